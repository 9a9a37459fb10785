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
			if (r.rest) return;
			if (list) { if (value(r) !== null && value(r) !== undefined && value(r) !== -1) toggle(list, value(r), more); } else if (r.key) toggleWhere(textTest(a.by, r.key));
		} : null,
	});
}

const textTest = (field, text) => field === "func" && text === "(not known)" ? "!known(func)" : `${field} = ${["wait", "kind"].includes(field) ? text : JSON.stringify(text)}`;

const toggleWhere = text => select({where: state.sel.where.includes(text) ? state.sel.where.filter(t => t !== text) : [...state.sel.where, text]});

const recordView = {offset: 0, sort: "", down: false, size: 25};

// recordsTable shows the quanta of the selection, one page at a time.
function recordsTable(a) {
	const heads = [["group", ""], ["goroutine", "goroutine"], ["t", "begin"], ["duration", "duration"], ["ended", ""], ["waits for", ""], ["function on top", ""], ...a.metrics.map(m => [show(m, 30), m])];
	const numeric = i => i === 1 || i === 2 || i === 3 || i > 6, wide = i => i === 1 || i === 4 || i === 5 || i === 6;
	const head = ([title, sort], i) => h("th", {scope: "col", class: [numeric(i) ? "num" : "", wide(i) ? "wide" : ""].join(" ").trim() || null, "aria-sort": sort && recordView.sort === sort ? (recordView.down ? "descending" : "ascending") : null},
		sort ? h("button.sort", {type: "button", onclick: () => { Object.assign(recordView, {sort, down: recordView.sort === sort ? !recordView.down : true, offset: 0}); drawCounters("view"); }}, title, h("span", {"aria-hidden": "true"}, recordView.sort === sort ? (recordView.down ? " ▾" : " ▴") : "")) : title);
	const body = a.rows.map(r => {
		const g = D.groups.findIndex(o => o.name === r.group && o.kind === r.kind);
		return h("tr", null, h("th", {scope: "row"}, g >= 0 ? groupName(g) : show(r.group)), h("td.num.wide", null, String(r.goroutine)), h("td.num", null, duration(r.begin)), h("td.num", null, duration(r.duration)), h("td.wide", null, r.ended), h("td.wide", null, r.wait === "none" ? "" : r.wait),
			h("td.wide", null, r.func ? name(r.func, shortFunc(r.func)) : ""), r.values.map((v, i) => h("td.num", null, measure(v ?? NaN, a.units[i]))));
	});
	const go = by => () => { recordView.offset = Math.max(0, recordView.offset + by * recordView.size); drawCounters("view"); };
	const last = recordView.offset + recordView.size >= a.total;
	return [h("div.scroll", {tabindex: "0", role: "region", "aria-label": "quanta"}, h("table#record-rows", null, h("caption.unseen", null, "the quanta of the selection"), h("thead", null, h("tr", null, heads.map(head))), h("tbody", null, body))),
		h("p.more", null, a.total ? `${count(recordView.offset + 1)} – ${count(Math.min(a.total, recordView.offset + recordView.size))} of ${count(a.total)} ` : "No quanta in the selection. ",
			h("button", {type: "button", disabled: recordView.offset === 0, onclick: go(-1)}, "previous"), " ", h("button", {type: "button", disabled: last, onclick: go(1)}, "next"))];
}
