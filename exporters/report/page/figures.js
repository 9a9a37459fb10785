// Answers about a set of rows in numbers: statistics, tables by group, single rows, and sums over time. See Go's counters.Query.

// knownOf gives the values of rows that are known.
function knownOf(values, rows) {
	const out = new Float64Array(rows.length);
	let n = 0;
	for (const row of rows) if (values[row] === values[row]) out[n++] = values[row];
	return out.subarray(0, n);
}

// ratioOf is Σ over ÷ Σ under of the rows where both sides of a quotient are known.
function ratioOf(m, rows) {
	if (!m.over) return {ratio_of_sums: null, ratio_rows: 0};
	const over = new Sum(), under = new Sum();
	let n = 0;
	for (const row of rows) {
		const a = m.over[row], b = m.under[row];
		if (a !== a || b !== b) continue;
		over.add(a);
		under.add(b);
		n++;
	}
	return {ratio_of_sums: n ? orNull(over.value / under.value) : null, ratio_rows: n};
}

function answerStats(t, text, rows) {
	const m = t.metric(text), v = knownOf(m.values, rows), n = v.length, sum = sumOf(v), mean = sum / n;
	const sorted = Float64Array.from(v).sort();
	const changes = [];
	for (const row of rows) {
		const p = t.prev[row], d = p < 0 ? NaN : finiteOr(m.values[row] - m.values[p]);
		if (d === d) changes.push(d);
	}
	return {metric: m.text, unit: m.unit, count: rows.length, known: n, sum: n ? orNull(sum) : null, min: n ? sorted[0] : null, max: n ? sorted[n - 1] : null, mean: n ? orNull(mean) : null, deviation: deviationOf(v, mean),
		quantiles: QUANTILES.map(q => ({q, value: n ? sorted[rank(q, n)] : null})), mean_change: changes.length ? orNull(sumOf(changes) / changes.length) : null, changes: changes.length, ...ratioOf(m, rows)};
}

// keysOf tells by what a table puts rows together: {of(row), text(key), number}.
function keysOf(t, by) {
	const f = t.form;
	switch (by) {
	case "group": return {of: i => t.group[i], text: k => t.groupForms[k].name};
	case "kind": return {of: i => t.groupForms[t.group[i]].kind, text: k => k};
	case "func": return {of: i => t.func[i], text: k => k ? f.funcs[k] : "(not known)"};
	case "ended": return {of: i => t.ending[i], text: k => f.endings[k]};
	case "wait": return {of: i => t.wait[i], text: k => f.waits[k]};
	case "goroutine": return {of: i => t.goroutine[i], text: k => String(f.goroutines[k]), number: k => f.goroutines[k]};
	case "thread": return {of: i => t.thread[i], text: k => f.threads[k] || "(not known)", number: k => orNull(t.threadNumbers[k])};
	case "proc": return {of: i => t.proc[i], text: k => k < 0 ? "(not known)" : String(k), number: k => k < 0 ? null : k};
	}
	throw new Error(`cannot group by ${quoteText(by)}: there are group, kind, goroutine, func, proc, thread, ended and wait`);
}

// atMost bounds the metrics of a query.
function atMost(metrics, most) {
	if (metrics && metrics.length > most) throw new Error(`${metrics.length} metrics are more than ${most}`);
}

function answerTable(t, q, rows) {
	atMost(q.metrics, 8);
	const keys = keysOf(t, q.by), metrics = (q.metrics || []).map(text => t.metric(text)), groups = new Map();
	for (const row of rows) {
		const k = keys.of(row), list = groups.get(k);
		if (list) list.push(row);
		else groups.set(k, [row]);
	}
	const sums = list => ({count: list.length, duration: sumOf(knownOf(t.duration, list)), cells: metrics.map(m => cellOf(m, list))});
	const all = tableOrder(t, q.by, keys).filter(k => groups.has(k)).map(k => {
		const number = keys.number ? keys.number(k) : null, list = groups.get(k);
		return {key: keys.text(k), ...(number === null ? {} : {[q.by]: number}), ...sums(list), list};
	});
	const value = {count: r => r.count, duration: r => r.duration}[q.sort || "duration"] || (r => r.cells[Number(q.sort)].sum ?? -Infinity);
	all.sort((a, b) => value(b) - value(a) || 0);
	const limit = q.limit || 50, rest = all.slice(limit);
	const others = rest.length ? {key: "", groups: rest.length, ...sums(rest.flatMap(r => r.list).sort((a, b) => a - b))} : null;
	return {by: q.by, metrics: metrics.map(m => m.text), units: metrics.map(m => m.unit), rows: all.slice(0, limit).map(({list, ...r}) => r), others, groups: all.length};
}

// tableOrder is the order in which Go numbers the keys, that of rows that are equal otherwise.
function tableOrder(t, by, keys) {
	if (by === "kind") return ["application", "gc", "runtime", "tracer"];
	if (by === "group") return t.groupForms.map((_, i) => i);
	const n = {func: t.form.funcs.length, ended: t.form.endings.length, wait: t.form.waits.length}[by];
	return n !== undefined ? Array.from({length: n}, (_, i) => i) : [...firstKeys(t, keys)];
}

function cellOf(m, rows) {
	const v = knownOf(m.values, rows), n = v.length, sum = sumOf(v);
	let min = Infinity, max = -Infinity;
	for (const x of v) { min = Math.min(min, x); max = Math.max(max, x); }
	return {known: n, sum: n ? orNull(sum) : null, mean: n ? orNull(sum / n) : null, min: n ? min : null, max: n ? max : null, ratio_of_sums: ratioOf(m, rows).ratio_of_sums};
}

function answerRows(t, q, rows) {
	atMost(q.metrics, 20);
	if (q.offset < 0 || q.limit < 0 || q.limit > 10000) throw new Error(`cannot give ${q.limit} rows from ${q.offset} on: at most 10000 at a time`);
	const metrics = (q.metrics || []).map(text => t.metric(text));
	let order = rows;
	if (q.sort) {
		const v = t.metric(q.sort).values, sign = q.descending ? -1 : 1;
		order = Uint32Array.from(rows).sort((a, b) => {
			const x = v[a], y = v[b], nx = x !== x, ny = y !== y;
			return nx || ny ? nx - ny || a - b : sign * (x - y) || a - b;
		});
	} else if (q.descending) {
		order = Uint32Array.from(rows).reverse();
	}
	const from = q.offset || 0;
	return {total: rows.length, metrics: metrics.map(m => m.text), units: metrics.map(m => m.unit), rows: Array.from(order.slice(from, from + (q.limit || 100)), row => rowForm(t, row, metrics))};
}

function rowForm(t, i, metrics) {
	const f = t.form, g = t.groupForms[t.group[i]];
	return {row: i, goroutine: f.goroutines[t.goroutine[i]], group: g.name, kind: g.kind, thread: orNull(t.threadNumbers[t.thread[i]]), proc: t.proc[i] < 0 ? null : t.proc[i], begin: t.begin[i], duration: t.duration[i],
		ended: f.endings[t.ending[i]], wait: f.waits[t.wait[i]], func: f.funcs[t.func[i]] || "", values: metrics.map(m => orNull(m.values[i]))};
}

function answerSeries(t, q, rows) {
	const m = t.metric(q.metric), [from, to] = windowOf(t, q.from, q.to), n = q.bins || 400;
	if (n < 0 || n > 10000) throw new Error(`${n} bins are not between 1 and 10000`);
	const bins = Array.from({length: n}, () => ({count: 0, known: 0, sum: new Sum(), min: Infinity, max: -Infinity}));
	let outside = 0;
	for (const row of rows) {
		const b = t.begin[row], v = m.values[row];
		if (b < from || b >= to) { outside++; continue; }
		const bin = bins[Math.min(n - 1, Math.max(0, Math.floor((b - from) / (to - from) * n)))];
		bin.count++;
		if (v !== v) continue;
		bin.known++;
		bin.sum.add(v);
		bin.min = Math.min(bin.min, v);
		bin.max = Math.max(bin.max, v);
	}
	return {metric: m.text, unit: m.unit, from, to, outside, bins: bins.map(b => ({count: b.count, known: b.known, sum: b.known ? orNull(b.sum.value) : null, mean: b.known ? orNull(b.sum.value / b.known) : null, min: b.known ? b.min : null, max: b.known ? b.max : null}))};
}
