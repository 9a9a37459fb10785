// The engine of a saved page, on the table of quanta in the page. It supports picked selections (groups, goroutines, time,
// processors, threads, endings), and as metrics a name or the quotient of two names. The full language of filters and metrics is in
// Go's internal/query, which a served page queries (remote.js).

const LANGUAGE = "conditions and arithmetic need the served page: bottleneck report -http=localhost:0 FILE";

// rank returns the index of the quantile q of n sorted values.
const rank = (q, n) => Math.max(1, Math.ceil(q * n - 1e-9)) - 1;

const orNull = v => Number.isFinite(v) ? v : null;
const total = values => values.reduce((t, v) => t + v, 0);

class PickingEngine {
	constructor({goroutine = [], thread = [], group = [], proc = [], begin = [], duration = [], ended = [], wait = [], func = [], funcs, counters, endings, waits}) {
		const numbered = (column, all) => { const at = new Map(all.map((v, i) => [v, i])); return column.map(v => at.get(v)); };
		const goroutines = [...new Set(goroutine)], threads = [...new Set(thread)];
		Object.assign(this, {goroutines, goroutine: numbered(goroutine, goroutines), threads: threads.map(t => t < 0 ? NaN : t), thread: numbered(thread, threads),
			group, proc, begin, duration, ended: numbered(ended, endings), wait: numbered(wait, waits), func, funcs});
		this.counters = counters.map(c => Float64Array.from(c.values || [], v => v ?? NaN)); // null is unknown
		this.metrics = new Map();
		const last = new Map();
		this.previous = Int32Array.from(this.goroutine, (g, row) => { // the row before of the same goroutine, −1 for the first
			const p = last.get(g) ?? -1;
			last.set(g, row);
			return p;
		});
	}

	// metric returns {text, unit, values}, and for a quotient also its sides over and under. NaN means unknown.
	metric(text) {
		if (this.metrics.has(text)) return this.metrics.get(text);
		const whole = this.named(text), left = whole ? null : D.counters.names.find(n => text.startsWith(n.name + " / ") && this.named(text.slice(n.name.length + 3)));
		if (!whole && !left) throw new Error(`${show(text, 80)}: ${LANGUAGE}`);
		const a = whole || this.named(left.name), b = left && this.named(text.slice(left.name.length + 3));
		const out = !b ? {text, ...a} : {text, unit: a.unit === b.unit ? "" : b.unit ? (a.unit || "1") + "/" + b.unit : a.unit, over: a.values, under: b.values,
			values: a.values.map((v, row) => Number.isFinite(v / b.values[row]) ? v / b.values[row] : NaN)};
		this.metrics.set(text, out);
		return out;
	}

	named(name) {
		const i = D.counters.names.findIndex(n => n.name === name), end = row => this.begin[row] + this.duration[row], {previous, begin} = this;
		if (i < 0) return null;
		const {unit, builtin} = D.counters.names[i], own = {
			gap: row => previous[row] < 0 ? NaN : begin[row] - end(previous[row]), end, goroutine: row => this.goroutines[this.goroutine[row]],
			thread: row => this.threads[this.thread[row]], proc: row => this.proc[row] < 0 ? NaN : this.proc[row],
		}[name];
		if (!builtin) return {unit, values: this.counters[i - D.counters.names.findIndex(n => !n.builtin)]};
		return {unit, values: own ? begin.map((_, row) => own(row)) : this[name]};
	}

	// selected returns the rows of a selection.
	selected(sel) {
		const tests = [], pick = (list, of) => { const set = new Set(list); if (list.length) tests.push(row => set.has(of(row))); }, f = D.counters;
		if (sel.where.length) throw new Error(LANGUAGE);
		pick(sel.groups, row => f.groups[this.group[row]]);
		pick(sel.goroutines, row => this.goroutines[this.goroutine[row]]);
		pick(sel.procs, row => this.proc[row]);
		pick(sel.threads, row => this.threads[this.thread[row]]);
		pick(sel.ended, row => f.endings[this.ended[row]]);
		if (sel.time) tests.push(row => this.begin[row] < sel.time[1] && (this.begin[row] + this.duration[row] > sel.time[0] || this.begin[row] >= sel.time[0]));
		const out = new Uint32Array(f.rows);
		let n = 0;
		for (let row = 0; row < f.rows; row++) if (tests.every(t => t(row))) out[n++] = row;
		return out.subarray(0, n);
	}

	// answer returns the parts of Go's query.Answer that the page shows.
	async answer(sel, q) {
		const rows = this.selected(sel), out = {count: rows.length, of: D.counters.rows, duration: rows.reduce((t, row) => t + this.duration[row], 0)};
		if (q.units) out.units = q.units.map(text => this.metric(text).unit);
		if (q.stats) out.stats = q.stats.map(text => this.statistics(this.metric(text), rows));
		for (const part of ["table", "rows", "lanes", "density"]) if (q[part]) out[part] = this[part](q[part], rows);
		return out;
	}

	statistics(m, rows) {
		const known = rows.filter(row => m.values[row] === m.values[row]), v = Float64Array.from(known, row => m.values[row]).sort(), n = v.length, cell = this.cell(m, rows);
		const changes = Array.from(known, row => this.previous[row] < 0 ? NaN : m.values[row] - m.values[this.previous[row]]).filter(d => d === d);
		const quantile = q => n ? v[rank(q, n)] : null, deviation = Math.sqrt(total(v.map(x => (x - cell.mean) ** 2)) / (n - 1));
		return {metric: m.text, unit: m.unit, known: n, ...cell, min: n ? v[0] : null, max: n ? v[n - 1] : null, deviation: n > 1 ? deviation : null,
			quantiles: {p5: quantile(.05), p50: quantile(.5), p95: quantile(.95)}, mean_change: changes.length ? total(changes) / changes.length : null};
	}

	// cell returns the sum and mean of a metric for tables; the mean of a quotient is that of the sums.
	cell(m, rows) {
		let sum = 0, n = 0, over = 0, under = 0;
		for (const row of rows) {
			if (m.values[row] === m.values[row]) { sum += m.values[row]; n++; }
			if (m.over && m.over[row] === m.over[row] && m.under[row] === m.under[row]) { over += m.over[row]; under += m.under[row]; }
		}
		return {sum: n ? sum : null, mean: n ? sum / n : null, ratio_of_sums: m.over ? orNull(over / under) : null};
	}

	// keys are the ways to group rows: of returns the key of a row, text its name, number that of a goroutine and the like.
	keys(by) {
		const f = D.counters, group = k => D.groups[f.groups[k]], number = {goroutine: k => this.goroutines[k], thread: k => orNull(this.threads[k]), proc: k => k < 0 ? null : k}[by];
		const text = number ? k => number(k) === null ? "(not known)" : String(number(k)) : {group: k => group(k).name, kind: k => k, func: k => this.funcs[k] || "(not known)", ended: k => f.endings[k], wait: k => f.waits[k]}[by];
		return {of: by === "kind" ? row => group(this.group[row]).kind : row => this[by][row], text, number: number || (() => null)};
	}

	// parts returns the rows by key, longest running first.
	parts(by, rows) {
		const keys = this.keys(by), all = new Map();
		for (const row of rows) {
			const k = keys.of(row), part = all.get(k) || {k, key: keys.text(k), number: keys.number(k), duration: 0, rows: []};
			part.duration += this.duration[row];
			part.rows.push(row);
			all.set(k, part);
		}
		return [...all.values()].sort((a, b) => b.duration - a.duration || a.k - b.k || 0);
	}

	table(q, rows) {
		const metrics = q.metrics.map(text => this.metric(text)), parts = this.parts(q.by, rows), rest = parts.slice(q.limit);
		const sums = list => ({count: list.length, duration: list.reduce((t, row) => t + this.duration[row], 0), cells: metrics.map(m => this.cell(m, list))});
		const others = rest.length ? {groups: rest.length, ...sums(rest.flatMap(p => p.rows))} : null;
		return {by: q.by, metrics: q.metrics, units: metrics.map(m => m.unit), others, rows: parts.slice(0, q.limit).map(p => ({key: p.key, [q.by]: p.number, ...sums(p.rows)}))};
	}

	// rows returns a page of the quanta, in the order of a metric or of time.
	rows(q, rows) {
		const metrics = q.metrics.map(text => this.metric(text)), v = q.sort ? this.metric(q.sort).values : this.begin, sign = q.descending ? -1 : 1;
		const order = rows.slice().sort((a, b) => (v[a] !== v[a]) - (v[b] !== v[b]) || sign * (v[a] - v[b]) || a - b);
		return {total: rows.length, metrics: q.metrics, units: metrics.map(m => m.unit), rows: Array.from(order.subarray(q.offset, q.offset + q.limit), row => ({...this.quantum(row), values: metrics.map(m => orNull(m.values[row]))}))};
	}

	quantum(row) {
		const f = D.counters, g = D.groups[f.groups[this.group[row]]];
		return {goroutine: this.goroutines[this.goroutine[row]], group: g.name, kind: g.kind, thread: orNull(this.threads[this.thread[row]]), proc: this.proc[row] < 0 ? null : this.proc[row], begin: this.begin[row], duration: this.duration[row],
			ended: f.endings[this.ended[row]], wait: f.waits[this.wait[row]], func: this.funcs[this.func[row]] || ""};
	}

	// lanes have a cell for each pixel in which something ran: [x, width, busy, quanta, row, value, ended].
	lanes(q, rows) {
		const m = q.metric ? this.metric(q.metric) : null, scale = q.width / (q.to - q.from), end = row => this.begin[row] + this.duration[row];
		const parts = this.parts(q.by, rows.filter(row => this.begin[row] < q.to && end(row) >= q.from)), shown = parts.slice(0, q.limit), rest = parts.slice(q.limit);
		const lanes = shown.map(p => {
			const cells = new Map();
			for (const row of p.rows) {
				const b = Math.max(0, (this.begin[row] - q.from) * scale), e = Math.min(q.width, (end(row) - q.from) * scale), last = Math.min(q.width - 1, Math.max(Math.ceil(e) - 1, Math.floor(b)));
				for (let x = Math.min(last, Math.floor(b)); x <= last; x++) {
					const c = cells.get(x) || {busy: 0, n: 0, weight: 0, sum: 0, value: NaN}, part = Math.max(0, Math.min(e, x + 1) - Math.max(b, x)) / scale;
					c.busy += part;
					c.value = m ? m.values[row] : NaN;
					if (c.value === c.value) { c.weight += part; c.sum += c.value * part; }
					c.n++;
					if (x === last && last - Math.floor(b) >= 7 && end(row) <= q.to) c.ended = D.counters.endings[this.ended[row]];
					cells.set(x, c);
				}
			}
			return {key: p.key, number: p.number, group: q.by === "goroutine" ? this.groupOf(p.rows) : null, busy: p.duration, quanta: p.rows.length,
				cells: [...cells].map(([x, c]) => [x, 1, c.busy, c.n, null, orNull(c.n === 1 ? c.value : c.sum / c.weight), c.ended])};
		});
		if (q.by !== "group") lanes.sort((a, b) => compareText(a.group || "", b.group || "") || (a.number ?? Infinity) - (b.number ?? Infinity) || 0);
		return {...q, metric: q.metric || "", unit: m ? m.unit : "", lanes, omitted: rest.length, omitted_busy: rest.reduce((t, p) => t + p.duration, 0)};
	}

	// groupOf returns the group in which a goroutine ran longest, preferring groups of the application.
	groupOf(rows) {
		const list = this.parts("group", this.all.get(this.goroutine[rows[0]])).map(p => D.groups[D.counters.groups[p.k]]);
		return (list.find(g => g.kind === "application") || list[0]).name;
	}

	// all returns the rows of each goroutine.
	get all() { return this.byGoroutine ||= new Map(this.parts("goroutine", Array.from(this.begin.keys())).map(p => [p.k, p.rows])); }

	// density counts the quanta in bins of two metrics.
	density(q, rows) {
		const out = {width: q.width, height: q.height, counts: new Array(q.width * q.height).fill(0), most: 0, known: 0};
		const [x, y] = [["x", q.width], ["y", q.height]].map(([axis, size]) => {
			const m = this.metric(q[axis]), log = q["log_" + axis], on = v => log ? (v > 0 ? Math.log10(v) : NaN) : v, range = rangeOf(Array.from(rows, row => on(m.values[row])));
			out[axis + "_range"] = log ? range.map(v => 10 ** v) : range;
			return row => Math.min(size - 1, Math.floor((on(m.values[row]) - range[0]) / (range[1] - range[0] || 1) * size));
		});
		for (const row of rows) {
			const bx = x(row), by = y(row);
			if (bx !== bx || by !== by) continue;
			out.known++;
			out.most = Math.max(out.most, ++out.counts[by * q.width + bx]);
		}
		return out;
	}

	// points returns the values of two metrics, or null if there are more than most.
	async points(sel, xText, yText, most) {
		const rows = this.selected(sel), x = this.metric(xText).values, y = this.metric(yText).values, f = D.counters, of = (Kind, value) => Kind.from(rows, value);
		if (rows.length > most) return null;
		return {row: rows, x: of(Float64Array, r => x[r]), y: of(Float64Array, r => y[r]), group: of(Int32Array, r => f.groups[this.group[r]]), goroutine: of(Float64Array, r => this.goroutines[this.goroutine[r]]), begin: of(Float64Array, r => this.begin[r])};
	}
}
