// The data: one JSON object in the page, and for the counters a table in columns.

const D = JSON.parse(byID("data").textContent);
colorGroups(D.groups, D.bottle);

// groupTitle returns the display name of a group.
const groupTitle = g => D.groups[g] ? show(D.groups[g].short, 120) : "(unknown)";

// swatch returns a small colored square, hidden from screen readers.
const swatch = color => h("span.swatch", {style: {background: color}, "aria-hidden": "true"});

// groupName returns the name of a group with its color, shortened to most characters.
const groupName = (g, most = 120) => h("span.group", null, swatch(D.groups[g].color), name(D.groups[g].name, show(D.groups[g].short, most)));

// Column is a column of the table. Its values by row are decoded on first use; NaN is an unknown one.
class Column {
	constructor(spec, bytes) { this.spec = spec; this.bytes = bytes; }

	get numbers() { return this.values ||= this.decode(); }

	decode() {
		const {type, offset, value = 0, unknown, base = 0} = this.spec, {rows} = D.counters;
		if (type === "const") return new Float64Array(rows).fill(value + base);
		const raw = new ({u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array}[type])(this.bytes, offset, rows);
		const none = unknown ? {u8: 0xff, u16: 0xffff, u32: 0xffffffff}[type] : undefined;
		return type === "f64" ? raw : Float64Array.from(raw, v => v === none ? NaN : v + base);
	}
}

// loadColumns decodes the table in the page.
async function loadColumns(form) {
	const packed = new Blob([Uint8Array.from(atob(form.packed), c => c.charCodeAt(0))]);
	const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
	return Object.fromEntries(Object.entries(form.columns).map(([key, spec]) => [key, new Column(spec, bytes)]));
}
