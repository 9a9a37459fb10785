// The counters section: fields for metrics and conditions, charts and tables of the selection.

const countersSection = {};

function makeCounters() {
	const c = D.counters, at = id => h("div.chart#" + id), described = {"aria-describedby": "metric-trouble"}, code = {type: "text", spellcheck: "false", autocomplete: "off", ...described};
	// In a served page any arithmetic is a metric; else one of a list.
	const field = (key, label, none) => {
		const options = [none ? h("option", {value: ""}, none) : null, metricChoices().map(name => h("option", {value: name}, name))];
		const input = countersSection[key] = D.served ? h("input.code", {id: key, list: "metric-names", placeholder: none || "a metric", ...code}) : h("select.code", {id: key, ...described}, options);
		input.addEventListener("change", () => look({[key]: input.value.trim() || defaultMetric(key)}));
		return h("label.grow", {for: key}, label, input);
	};
	state.view.x = state.view.x || defaultMetric("x");
	state.view.y = state.view.y || defaultMetric("y");
	const condition = h("input.code", {id: "condition", placeholder: "duration > 1ms && ended = preempted", "aria-label": "condition", ...code});
	const addCondition = ev => { ev.preventDefault(); tryCondition(condition); };
	Object.assign(countersSection, {time: at("overtime"), scatter: at("scatter"), lanes: at("lanes"), stats: h("div"), sums: h("div"), records: h("div"), figures: h("span#counter-figures", {role: "status"}), trouble: h("p.trouble#metric-trouble", {role: "alert"}), lead: h("p.lead")});
	for (const key of ["time", "scatter", "lanes"]) onWidth(countersSection[key], drawCounters);
	const choice = (key, label, list) => h("label", null, label, h("select", {id: "choose-" + key, onchange: ev => look({[key]: ev.target.value})}, list.map(v => h("option", {value: v, selected: state.view[key] === v}, v))));
	const check = (id, axis, label) => h("label.switch", null, h("input", {type: "checkbox", id, checked: isLog(axis), onchange: ev => look({log: "xy".split("").filter(a => a === axis ? ev.target.checked : isLog(a)).join("")})}), label);
	const block = (title, ...children) => h("div", null, h("h3", null, title), children);
	return section("counters", "counters", h("p.about", null, "A quantum is a stretch of time for which a goroutine ran without a break. ", D.served ? "Metrics are names or arithmetic on them, such as 1000 * minor_faults / duration; conditions compare metrics, or test group, func, ended and wait; first(5, gc) are the first five quanta after each collection."
		: "Click groups, goroutines, processors, threads or endings to select their quanta. Conditions and arithmetic on counters need the served page: bottleneck report -http=localhost:0 FILE."),
		countersSection.lead, h("datalist#metric-names", null, metricChoices().map(name => h("option", {value: name}))),
		h("div.fields", null, h("span.pair", null, field("x", "x"), check("log-x", "x", "log")), h("span.pair", null, field("y", "y"), check("log-y", "y", "log")), h("button#whole-run", {type: "button", onclick: () => { look({window: -1}); select({time: null}); }}, "whole run"), countersSection.figures),
		D.served ? h("form.fields", {onsubmit: addCondition}, h("label.grow", {for: "condition"}, "only", condition), h("button", {type: "submit"}, "add")) : null, countersSection.trouble,
		h("div.columns", null, block("over time (drag to select)", countersSection.time), block("scatter of the selection" + (D.served ? " (drag to select)" : ""), countersSection.scatter)),
		block("timelines", h("div.fields", null, choice("lanes", "of each", ["goroutine", "proc", "thread", "group"]), field("color", "colored by", "group")), countersSection.lanes),
		block("statistics of the selection", countersSection.stats), block("sums", h("div.fields", null, choice("table", "by", Object.keys(TABLE_BY))), countersSection.sums),
		block("quanta", countersSection.records), counterSources(c), notes(c.warnings, "notes on counters"));
}

// isLog reports whether an axis is logarithmic.
const isLog = axis => state.view.log.includes(axis);

// metricChoices lists the names for metrics, and common quotients of them.
function metricChoices() {
	const names = D.counters.names, ipc = ["instructions / cycles", "instr / cycles"].filter(q => q.split(" / ").every(n => names.some(o => o.name === n)));
	return [...names.map(n => n.name), ...ipc, ...names.filter(n => !n.builtin && !n.level).map(n => n.name + " / duration")];
}

// defaultMetric returns instructions per cycle if it was recorded, otherwise a metric that every trace has.
function defaultMetric(key) {
	if (key === "color") return "";
	const known = D.counters.names.filter(n => !n.builtin).map(n => n.name);
	if (key === "y") return metricChoices().find(n => n.endsWith(" / cycles")) || "duration";
	return known.find(n => /miss|fault/.test(n)) || known.find(n => n === "sched_delay") || known[0] || "gap";
}

// counterSources lists the source of each counter, its accuracy, and the counts outside all quanta.
function counterSources(c) {
	return h("details", null, h("summary", null, `where the ${plural(c.counters.length, "counter comes", "counters come")} from`), dataTable({
		id: "source-rows", label: "counters", rows: c.counters, limit: 40,
		columns: [{title: "counter", text: r => r.name, cell: r => h("bdi.code", null, show(r.name, 80))}, {title: "source", text: r => r.source}, {title: "accuracy", text: r => r.accuracy}, {title: "kind", text: r => r.level ? "level" : "change"},
			{title: "total", num: true, value: r => r.total, cell: r => r.level ? "" : measure(r.total, r.unit)}, {title: "of no quantum", num: true, value: r => r.remainder, cell: r => r.level ? "" : measure(r.remainder, r.unit), wide: true}],
	}));
}

// tryCondition adds a condition if the server accepts it.
async function tryCondition(input) {
	const text = input.value.trim();
	if (!text) return;
	try {
		await engine.answer(emptySelection(), {filter: text});
	} catch (err) {
		return err.name === "AbortError" ? tryCondition(input) : trouble(err, input); // a redraw may have overtaken it
	}
	input.value = "";
	input.removeAttribute("aria-invalid");
	select({where: [...state.sel.where, text]});
}

function trouble(err, input) {
	fill(countersSection.trouble, err ? `${input && err.part ? show(input.value || "", 80) + ": " : ""}${err.message}` : "");
	for (const key of ["x", "y", "color"]) countersSection[key].removeAttribute("aria-invalid");
	if (input) input.setAttribute("aria-invalid", "true");
}

// drawCounters schedules a redraw of the section; several calls at once cause one redraw.
let redraw = 0;
function drawCounters(what) {
	if (what === "sel") recordView.offset = 0;
	clearTimeout(redraw);
	redraw = setTimeout(askAndDraw, 15);
}

// askAndDraw queries the engine for the selection and draws the answer, unless the selection changed since.
let asked = 0;
async function askAndDraw() {
	const mine = ++asked, current = () => mine === asked;
	const v = state.view, wall = Math.max(1, D.counters.wall), S = countersSection;
	v.x = v.x || defaultMetric("x");
	v.y = v.y || defaultMetric("y");
	for (const key of ["x", "y", "color"]) if (document.activeElement !== S[key]) S[key].value = v[key];
	byID("choose-lanes").value = v.lanes;
	byID("choose-table").value = v.table;
	byID("log-x").checked = isLog("x");
	byID("log-y").checked = isLog("y");
	const [from, to] = state.sel.time || [0, wall], sel = state.sel;
	const widthOf = e => Math.max(100, Math.min(4000, Math.floor(e.clientWidth || 600)));
	try {
		if (engine.overtake) engine.overtake();
		// The charts come first; the tables follow.
		const [a, time, scatter] = await Promise.all([
			engine.answer(sel, {units: [v.x, v.y], lanes: {by: v.lanes, metric: v.color, from, to, width: Math.max(60, widthOf(S.lanes) - 150), limit: lanesShown.n}}),
			pointsOf(sel, "begin", v.y, S.time, widthOf), pointsOf(sel, v.x, v.y, S.scatter, widthOf)]);
		if (!current()) return;
		trouble(null);
		const begin = performance.now();
		showCharts(a, {time, scatter, xUnit: a.units[0], yUnit: a.units[1]});
		document.documentElement.dataset.drawn = String(performance.now() - begin); // for the benchmark
		await new Promise(done => setTimeout(done)); // the browser draws
		if (!current()) return;
		const tables = await engine.answer(sel, {stats: measures(9), table: {by: v.table, metrics: [v.x, v.y], limit: 100}, rows: {metrics: [v.x, v.y], sort: recordView.sort, descending: recordView.down, offset: recordView.offset, limit: recordView.size}});
		if (!current()) return;
		showTables(tables);
		document.documentElement.dataset.answered = String(++answered);
	} catch (err) {
		if (!current() || err.name === "AbortError") return;
		const field = {x: S.x, y: S.y, "units[0]": S.x, "units[1]": S.y, density: S.y, lanes: S.color}[err.part];
		trouble(err, field || null);
	}
}

let answered = 0; // how often everything was answered, for tests

// pointsOf returns single points, or their density if there are too many.
async function pointsOf(sel, x, y, host, widthOf) {
	const points = await engine.points(sel, x, y, MOST_POINTS);
	if (points) return {points};
	const width = Math.min(600, Math.floor(widthOf(host) / 3));
	return {density: (await engine.answer(sel, {density: {x, y, width, height: Math.floor(width / 2.2), log_x: x !== "begin" && isLog("x"), log_y: isLog("y")}})).density};
}

function showCharts(a, found) {
	const S = countersSection, binned = [found.time, found.scatter].some(f => f.density);
	fill(S.figures, h("b#selected-count", null, count(a.count)), ` of ${count(a.of)} quanta`);
	fill(S.lead, `${plural(a.count, "quantum", "quanta")} that ran ${duration(a.duration)}`, binned ? h("span.tag", null, `shown as density: more than ${count(MOST_POINTS)} points`) : "", ".");
	fill(byID("figures"), `${count(a.count)} of ${count(a.of)} quanta`);
	drawPoints(S.time, found.time, found.yUnit);
	drawPoints(S.scatter, found.scatter, found.yUnit, found.xUnit);
	drawLanes(S.lanes, a.lanes);
}

function showTables(a) {
	const S = countersSection;
	fill(S.stats, statsTable(a.stats));
	fill(S.sums, sumsTable(a.table));
	fill(S.records, recordsTable(a.rows));
}
