// Metrics over the whole table: each is one array of numbers by row, NaN where it is not known. As Go's package counters (metric.go):
// nothing else becomes NaN, and what would be infinite is not known.

// A Unit is a product of powers of nanoseconds and bytes; a number written in a metric is free and goes with everything.
const unit = (ns, bytes, free) => ({ns, bytes, free: !!free});
const unitOf = text => text === "ns" ? unit(1, 0) : text === "bytes" ? unit(0, 1) : unit(0, 0);

function unitText(u) {
	const power = (name, n) => Math.abs(n) > 1 ? `${name}^${Math.abs(n)}` : name;
	const parts = [["ns", u.ns], ["bytes", u.bytes]];
	const over = parts.filter(([, n]) => n > 0).map(([name, n]) => power(name, n)), under = parts.filter(([, n]) => n < 0).map(([name, n]) => power(name, n));
	if (!over.length && !under.length) return "";
	return (over.join("*") || "1") + under.map(t => "/" + t).join("");
}

// together is the unit of a sum; null if the two cannot be added.
const together = (u, v) => u.free ? v : v.free ? u : u.ns === v.ns && u.bytes === v.bytes ? u : null;
const unitName = u => unitText(u) || "a plain count";

const BUILTINS = {duration: "ns", gap: "ns", begin: "ns", end: "ns", goroutine: "", thread: "", proc: ""};

// Table is the recording in columns, with what is computed from it.
class Table {
	constructor(form, columns) {
		this.form = form;
		this.rows = form.rows;
		this.columns = columns;
		this.cache = new Map();
		const ints = name => columns[name].ints;
		Object.assign(this, {goroutine: ints("goroutine"), thread: ints("thread"), group: ints("group"), proc: ints("proc"), ending: ints("ending"), wait: ints("wait"), func: ints("func"),
			begin: columns.begin.numbers, duration: columns.duration.numbers});
		this.end = Float64Array.from(this.begin, (b, i) => b + this.duration[i]);
		this.threadNumbers = form.threads.map(t => t === "" ? NaN : Number(t));
		this.groupForms = form.groups.map(g => D.groups[g]);
	}

	// prev is the row before of the same goroutine, −1 for the first.
	get prev() {
		if (this.previous) return this.previous;
		const last = new Int32Array(this.form.goroutines.length).fill(-1), out = new Int32Array(this.rows);
		for (let i = 0; i < this.rows; i++) {
			const g = this.goroutine[i];
			out[i] = last[g];
			last[g] = i;
		}
		return this.previous = out;
	}

	map(f) {
		const out = new Float64Array(this.rows);
		for (let i = 0; i < this.rows; i++) out[i] = f(i);
		return out;
	}

	// metric returns {values, unit, text, over, under} of a parsed metric; over and under are the sides of a quotient.
	metric(text) {
		if (this.cache.has(text)) return this.cache.get(text);
		const root = parseMetric(text), fail = (n, message) => { throw new SyntaxTrouble(text, n.pos, message); };
		const value = this.evaluate(root, fail);
		const out = {values: value.values, unit: unitText(value.unit), text: canonical(root), root};
		if (root.op === "div") {
			out.over = this.evaluate(root.kids[0], fail).values;
			out.under = this.evaluate(root.kids[1], fail).values;
		}
		if (this.cache.size >= 24) this.cache.delete(this.cache.keys().next().value);
		this.cache.set(text, out);
		return out;
	}

	evaluate(n, fail) {
		switch (n.op) {
		case "number": return {values: new Float64Array(this.rows).fill(n.num), unit: n.word ? unitOf(SUFFIXES[n.word][1]) : unit(0, 0, true)};
		case "name": case "quoted": return this.named(n, fail);
		case "neg": case "abs": case "change": {
			const kid = this.evaluate(n.kids[0], fail), v = kid.values;
			const f = n.op === "neg" ? i => -v[i] : n.op === "abs" ? i => Math.abs(v[i]) : i => this.prev[i] < 0 ? NaN : finiteOr(v[i] - v[this.prev[i]]);
			return {values: this.map(f), unit: kid.unit};
		}
		}
		let out = this.evaluate(n.kids[0], fail);
		for (const kid of n.kids.slice(1)) out = this.combine(n, out, this.evaluate(kid, fail), fail);
		return out;
	}

	combine(n, a, b, fail) {
		let u = together(a.unit, b.unit);
		if (n.op === "mul" || n.op === "div") {
			const sign = n.op === "mul" ? 1 : -1;
			u = unit(a.unit.ns + sign * b.unit.ns, a.unit.bytes + sign * b.unit.bytes, a.unit.free && b.unit.free);
		} else if (!u) {
			fail(n, `the units differ: ${unitName(a.unit)} and ${unitName(b.unit)}`);
		}
		const x = a.values, y = b.values;
		const f = {add: i => finiteOr(x[i] + y[i]), sub: i => finiteOr(x[i] - y[i]), mul: i => finiteOr(x[i] * y[i]), div: i => finiteOr(x[i] / y[i]),
			min: i => Math.min(x[i], y[i]), max: i => Math.max(x[i], y[i])}[n.op];
		return {values: this.map(f), unit: u};
	}

	named(n, fail) {
		if (n.op === "name" && Object.hasOwn(BUILTINS, n.word)) return {values: this.builtin(n.word), unit: unitOf(BUILTINS[n.word])};
		const list = this.form.counters;
		let i = list.findIndex(c => c.name === n.word);
		if (i < 0 && n.op === "name") i = list.findIndex(c => c.name.replaceAll("-", "_") === n.word);
		if (i < 0) fail(n, `this recording has no counter ${quoteText(n.word)}`);
		return {values: this.columns["counter " + i].numbers, unit: unitOf(list[i].unit)};
	}

	builtin(name) {
		switch (name) {
		case "duration": return this.duration;
		case "begin": return this.begin;
		case "end": return this.end;
		case "gap": return this.map(i => this.prev[i] < 0 ? NaN : this.begin[i] - this.end[this.prev[i]]);
		case "goroutine": return this.map(i => this.form.goroutines[this.goroutine[i]]);
		case "thread": return this.map(i => this.threadNumbers[this.thread[i]]);
		}
		return this.map(i => this.proc[i] < 0 ? NaN : this.proc[i]);
	}
}

const finiteOr = v => Number.isFinite(v) ? v : NaN;

// checkNames throws where an expression names a counter that the recording lacks; part is what is to blame.
function checkNames(part, text, parse) {
	blame(part, () => {
		const walk = n => {
			const known = n.op === "name" && Object.hasOwn(BUILTINS, n.word) || D.counters.counters.some(c => c.name === n.word || n.op === "name" && c.name.replaceAll("-", "_") === n.word);
			if ((n.op === "name" || n.op === "quoted") && !known) throw new SyntaxTrouble(text, n.pos, `this recording has no counter ${quoteText(n.word)}`);
			n.kids.forEach(walk);
		};
		walk(parse(text));
	});
}

// metricUnit is the unit of a metric, found without its values; "" where the recording lacks what it names.
function metricUnit(text) {
	const walk = n => {
		if (n.op === "number") return n.word ? unitOf(SUFFIXES[n.word][1]) : unit(0, 0, true);
		if (n.op === "name" && Object.hasOwn(BUILTINS, n.word)) return unitOf(BUILTINS[n.word]);
		if (n.op === "name" || n.op === "quoted") return unitOf((D.counters.counters.find(c => c.name === n.word) || D.counters.counters.find(c => c.name.replaceAll("-", "_") === n.word) || {unit: ""}).unit);
		return n.kids.map(walk).reduce((u, v) => {
			const sign = {mul: 1, div: -1}[n.op];
			return sign ? unit(u.ns + sign * v.ns, u.bytes + sign * v.bytes, u.free && v.free) : together(u, v) || u;
		});
	};
	try {
		return unitText(walk(parseMetric(text)));
	} catch {
		return "";
	}
}

// namesOf lists what metrics can be made of, as they are written in the language.
function namesOf(form) {
	const taken = new Set(Object.keys(BUILTINS)), out = Object.entries(BUILTINS).map(([name, u]) => ({name, title: name, unit: u, builtin: true}));
	form.counters.forEach((c, i) => {
		const word = c.name.replaceAll("-", "_");
		const plain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(word) && !taken.has(word) && !FIELDS.includes(word) && !CALLS.includes(word) && !["all", "none", "in", "gc"].includes(word);
		if (plain) taken.add(word);
		out.push({name: plain ? word : quoteText(c.name), title: c.name, unit: c.unit, level: c.level, source: c.source, accuracy: c.accuracy, index: i});
	});
	return out;
}
