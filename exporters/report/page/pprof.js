// A small writer of pprof's profile.proto: enough for samples with names, values and labels.

class Proto {
	constructor() { this.bytes = []; }

	varint(v) {
		if (v < 0) throw new Error("negative number in a profile");
		while (v >= 128) {
			this.bytes.push(v % 128 + 128);
			v = Math.floor(v / 128);
		}
		this.bytes.push(v);
	}

	int(field, v) {
		if (!v) return;
		this.varint(field * 8);
		this.varint(v);
	}

	data(field, bytes) {
		this.varint(field * 8 + 2);
		this.varint(bytes.length);
		for (const b of bytes) this.bytes.push(b);
	}

	message(field, f) {
		const m = new Proto();
		f(m);
		this.data(field, m.bytes);
	}

	packed(field, values) {
		const m = new Proto();
		for (const v of values) m.varint(v);
		this.data(field, m.bytes);
	}
}

// pprofBytes encodes {types: [[type, unit]…], samples: [{stack, values, labels}]}; the last type is the default one.
function pprofBytes(profile) {
	const out = new Proto(), strings = new Map([["", 0]]), functions = new Map();
	const text = t => {
		t = String(t);
		if (!strings.has(t)) strings.set(t, strings.size);
		return strings.get(t);
	};
	for (const [type, unit] of profile.types) out.message(1, m => { m.int(1, text(type)); m.int(2, text(unit)); });
	for (const smp of profile.samples) {
		const ids = smp.stack.map(name => {
			if (!functions.has(name)) functions.set(name, functions.size + 1);
			return functions.get(name);
		});
		out.message(2, m => {
			m.packed(1, ids);
			m.packed(2, smp.values.map(Math.round));
			for (const [key, value] of Object.entries(smp.labels)) if (value) m.message(3, l => { l.int(1, text(key)); l.int(2, text(value)); });
		});
	}
	for (const [name, id] of functions) {
		out.message(4, m => { m.int(1, id); m.message(4, l => l.int(1, id)); });
		out.message(5, m => { m.int(1, id); m.int(2, text(name)); m.int(3, text(name)); });
	}
	out.int(10, Math.round(D.wall || 0));
	out.int(14, text(profile.types[profile.types.length - 1][0]));
	for (const t of strings.keys()) out.data(6, new TextEncoder().encode(t));
	return Uint8Array.from(out.bytes);
}

// pprofBlob is the profile, packed as go tool pprof wants it.
const pprofBlob = async profile => new Response(new Blob([pprofBytes(profile)]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
