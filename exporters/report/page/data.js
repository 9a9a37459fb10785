// The data: one JSON object in the page, and for the counters a table in columns.

const D = JSON.parse(byID("data").textContent);
colorGroups(D.groups, D.bottle);

// groupTitle returns the display name of a group.
const groupTitle = g => D.groups[g] ? show(D.groups[g].short, 120) : "(unknown)";

// swatch returns a small colored square, hidden from screen readers.
const swatch = color => h("span.swatch", {style: {background: color}, "aria-hidden": "true"});

// groupName returns the name of a group with its color, shortened to most characters.
const groupName = (g, most = 120) => h("span.group", null, swatch(D.groups[g].color), name(D.groups[g].name, show(D.groups[g].short, most)));

// Column is a column of the table. Its values by row are decoded on first use.
class Column {
	constructor(spec, bytes) { this.spec = spec; this.bytes = bytes; }

	// raw returns a typed array of the stored values.
	get raw() {
		if (this.values) return this.values;
		const {type, offset, value = 0} = this.spec, rows = D.counters.rows;
		if (type === "const") {
			this.values = new ((value | 0) === value ? Int32Array : Float64Array)(rows).fill(value);
		} else {
			const kind = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array}[type];
			this.values = new kind(this.bytes, offset, rows);
		}
		return this.values;
	}

	// ints returns the values of a column of indexes, which are all known.
	get ints() {
		const base = this.spec.base || 0;
		return base ? Int32Array.from(this.raw, v => v + base) : this.raw;
	}

	// numbers returns the values as numbers, NaN where unknown.
	get numbers() {
		if (this.floats) return this.floats;
		const raw = this.raw, {type, unknown, base} = this.spec;
		const none = unknown ? {u8: 0xff, u16: 0xffff, u32: 0xffffffff}[type] : undefined;
		if (type === "f64") return this.floats = raw;
		const out = new Float64Array(raw.length);
		for (let i = 0; i < raw.length; i++) out[i] = raw[i] === none ? NaN : raw[i] + (base || 0);
		return this.floats = out;
	}
}

// loadColumns decodes the table in the page.
async function loadColumns(form) {
	const text = atob(form.packed);
	const packed = Uint8Array.from(text, c => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	const bytes = await new Response(stream).arrayBuffer();
	const columns = {};
	for (const [key, spec] of Object.entries(form.columns)) columns[key] = new Column(spec, bytes);
	return columns;
}
