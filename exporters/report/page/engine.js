// The engine answers queries about the table of quanta, in the form of Go's counters.Query and counters.Answer: here in the page,
// or by asking the server that the page came from.

let engine = null;

async function startEngine() {
	engine = D.served ? new RemoteEngine() : new LocalEngine(new Table(D.counters, await loadColumns(D.counters)));
}

// blame notes in an error which part of a query is wrong.
function blame(part, f) {
	try {
		return f();
	} catch (err) {
		err.part = err.part || part;
		throw err;
	}
}

// LocalEngine computes in the page. Sets of rows are kept for a while, by their filters.
class LocalEngine {
	constructor(table) {
		this.t = table;
		this.kept = new Map();
	}

	// rows are the numbers of the rows in the set of a filter.
	rows(text) {
		text = text || "";
		if (this.kept.has(text)) return this.kept.get(text);
		const root = parseFilter(text), mask = new Sets(this.t, text).set(root), rows = new Uint32Array(mask.reduce((n, v) => n + v, 0));
		let n = 0;
		for (let i = 0; i < mask.length; i++) if (mask[i]) rows[n++] = i;
		const out = {rows, mask, text: canonical(root)};
		if (this.kept.size >= 16) this.kept.delete(this.kept.keys().next().value);
		this.kept.set(text, out);
		return out;
	}

	// overtake tells that a newer selection is asked about.
	overtake() {}

	// answer answers a query; a SyntaxTrouble has the part of the query that is wrong.
	async answer(q) { return this.answerNow(q); }

	answerNow(q) {
		const t = this.t, part = blame;
		const set = part("filter", () => this.rows(q.filter)), rows = set.rows;
		const out = {filter: set.text, of: t.rows, count: rows.length, duration: sumOf(knownOf(t.duration, rows))};
		if (q.stats) part("stats", () => atMost(q.stats, 50));
		if (q.stats) out.stats = q.stats.map(m => part("stats", () => answerStats(t, m, rows)));
		for (const [name, f] of [["table", answerTable], ["rows", answerRows], ["series", answerSeries], ["density", answerDensity], ["lanes", answerLanes]]) if (q[name]) out[name] = part(name, () => f(t, q[name], rows));
		if (q.correlate) out.correlation = part("correlate", () => answerCorrelation(t, q.correlate, rows));
		if (q.compare || q.against) {
			const other = part("against", () => q.against ? this.rows(q.against) : this.others(set));
			out.against = other.text;
			out.against_count = other.rows.length;
			if (q.compare) out.comparison = part("compare", () => answerComparison(t, q.compare, rows, other.rows));
		}
		return out;
	}

	others(set) {
		const rows = new Uint32Array(this.t.rows - set.rows.length);
		let n = 0;
		for (let i = 0; i < set.mask.length; i++) if (!set.mask[i]) rows[n++] = i;
		return {rows, text: ""};
	}

	// points gives {x, y, group, row} of the rows of a set, as arrays, or null if there are more than most.
	async points(filter, xText, yText, most) {
		const {rows} = blame("filter", () => this.rows(filter));
		if (rows.length > most) return null;
		const t = this.t, x = blame("x", () => t.metric(xText)), y = blame("y", () => t.metric(yText));
		return {row: rows, x: Float64Array.from(rows, r => x.values[r]), y: Float64Array.from(rows, r => y.values[r]), group: Int32Array.from(rows, r => D.counters.groups[t.group[r]]), goroutine: Float64Array.from(rows, r => D.counters.goroutines[t.goroutine[r]]), begin: Float64Array.from(rows, r => t.begin[r])};
	}

	// exported is a file of the quanta that are selected.
	async exported(form) {
		const {rows} = this.rows(filterText(state.sel)), counters = D.counters.counters;
		if (form === "pprof") return pprofBlob(this.profile(rows));
		const columns = counters.map((_, i) => this.t.columns["counter " + i].numbers);
		const list = Array.from(rows, row => {
			const {row: _, values, ...r} = rowForm(this.t, row, []);
			counters.forEach((c, i) => { r[c.name] = orNull(columns[i][row]); });
			return r;
		});
		return form === "csv" ? csvBlob(list) : jsonBlob(list);
	}

	// profile has a sample for each group and function on top.
	profile(rows) {
		const samples = new Map(), t = this.t;
		for (const row of rows) {
			const key = t.group[row] + " " + t.func[row], g = t.groupForms[t.group[row]];
			if (!samples.has(key)) samples.set(key, {stack: [...(t.func[row] ? [t.form.funcs[t.func[row]]] : []), "[group] " + g.name], values: [0, 0], labels: {group: g.name, kind: g.kind}});
			const v = samples.get(key).values;
			v[0]++;
			v[1] += t.duration[row];
		}
		return {types: [["quanta", "count"], ["running", "nanoseconds"]], samples: [...samples.values()]};
	}
}
