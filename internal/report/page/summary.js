// Tables of the selection: statistics of the metrics, sums by group and so on, and the quanta.

// measures lists the metrics of tables: x, y, and those of the recording, except names.
function measures(most) {
	const own = D.counters.names.filter(n => !n.builtin).map(n => n.name);
	return [...new Set([state.view.x, state.view.y, "duration", ...own])].slice(0, most);
}

function statsTable(stats) {
	const levels = new Set(D.counters.names.filter(n => n.level).map(n => n.name)); // their sum means nothing
	const col = (title, f, wide, help) => ({title, num: true, wide, help, value: r => f(r) ?? NaN, cell: r => measure(f(r) ?? NaN, r.unit)});
	return dataTable({
		id: "stats-rows", label: "statistics of the selection", rows: stats, limit: 30,
		columns: [
			{title: "metric", text: r => r.metric, cell: r => h("bdi.code", null, show(r.metric, 80))}, {title: "known", num: true, value: r => r.known, cell: r => count(r.known), wide: true},
			{...col("sum", r => r.sum, true), cell: r => levels.has(r.metric) ? "" : measure(r.sum ?? NaN, r.unit)}, col("mean", r => r.mean), {...col("of sums", r => r.ratio_of_sums, true, "sum of the left side ÷ sum of the right side")}, col("deviation", r => r.deviation, true), col("min", r => r.min, true),
			col("5%", r => r.quantiles.p5, true), col("median", r => r.quantiles.p50), col("95%", r => r.quantiles.p95), col("max", r => r.max), col("mean change", r => r.mean_change, true, "from a quantum to the next one of the same goroutine"),
		],
	});
}

const TABLE_BY = {group: "groups", goroutine: "goroutines", func: null, ended: "ended", wait: null, proc: "procs", thread: "threads", kind: null};

// sumsTable has a row for each group, goroutine and so on of the selection.
function sumsTable(a) {
	const list = TABLE_BY[a.by], value = r => a.by === "group" ? groupOf(r.key) : a.by === "ended" ? r.key : r[a.by];
	const key = r => a.by === "group" && value(r) >= 0 ? groupName(value(r)) : h("bdi", null, show(r.key === "" ? "(not known)" : a.by === "func" ? shortFunc(r.key) : r.key, 80));
	const rows = a.others ? [...a.rows, {...a.others, key: `${count(a.others.groups)} others`, rest: true}] : a.rows;
	const cell = i => r => r.cells[i].ratio_of_sums ?? r.cells[i].mean ?? NaN;
	return dataTable({
		id: "sums-rows", label: "sums by " + a.by, rows, limit: 15,
		columns: [{title: a.by, text: r => r.key, cell: key}, {title: "quanta", num: true, value: r => r.count, cell: r => count(r.count)}, {title: "ran", num: true, value: r => r.duration, cell: r => duration(r.duration)},
			...a.metrics.map((m, i) => ({title: "mean " + show(m, 30), num: true, help: "of a quotient, that of the sums", value: cell(i), cell: r => measure(cell(i)(r), a.units[i])}))],
		selected: list ? r => !r.rest && state.sel[list].includes(value(r)) : D.served ? r => state.sel.where.includes(textTest(a.by, r.key)) : null,
		onselect: list || D.served ? (r, more) => {
			if (!list && !r.rest && r.key) toggle("where", textTest(a.by, r.key), true);
			else if (list && !r.rest && (value(r) ?? -1) !== -1) toggle(list, value(r), more);
		} : null,
	});
}

const textTest = (field, text) => field === "func" && text === "(not known)" ? "!known(func)" : `${field} = ${["wait", "kind"].includes(field) ? text : JSON.stringify(text)}`;

const recordView = {offset: 0, sort: "", down: false, size: 25};

// recordsTable shows the quanta of the selection, one page at a time.
function recordsTable(a) {
	const group = r => numbers.get(r.kind + " " + r.group) ?? -1;
	const table = dataTable({
		id: "record-rows", label: "the quanta of the selection", rows: a.rows, limit: recordView.size, sorted: recordView.sort, resort: (sort, down) => { Object.assign(recordView, {sort, down, offset: 0}); drawCounters("view"); },
		columns: [
			{title: "group", cell: r => group(r) >= 0 ? groupName(group(r)) : show(r.group)}, {title: "goroutine", key: "goroutine", num: true, cell: r => String(r.goroutine), wide: true},
			{title: "t", key: "begin", num: true, cell: r => duration(r.begin)}, {title: "duration", key: "duration", num: true, cell: r => duration(r.duration)}, {title: "ended", cell: r => r.ended, wide: true},
			{title: "waits for", cell: r => r.wait === "none" ? "" : r.wait, wide: true}, {title: "function on top", cell: r => r.func ? name(r.func, shortFunc(r.func)) : "", wide: true},
			...a.metrics.map((m, i) => ({title: show(m, 30), key: m, num: true, cell: r => measure(r.values[i] ?? NaN, a.units[i])})),
		],
	});
	const go = by => () => { recordView.offset = Math.max(0, recordView.offset + by * recordView.size); drawCounters("view"); };
	const last = recordView.offset + recordView.size >= a.total;
	return [table,
		h("p.more", null, a.total ? `${count(recordView.offset + 1)} – ${count(Math.min(a.total, recordView.offset + recordView.size))} of ${count(a.total)} ` : "No quanta in the selection. ",
			h("button", {type: "button", disabled: recordView.offset === 0, onclick: go(-1)}, "previous"), " ", h("button", {type: "button", disabled: last, onclick: go(1)}, "next"))];
}
