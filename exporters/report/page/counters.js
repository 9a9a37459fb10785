// The section on counters: fields for the metrics and for conditions, charts and tables, all of the same selection.

const countersSection = {};

function makeCounters() {
	const c = D.counters, at = id => h("div.chart#" + id), field = (key, label, hint) => {
		const input = h("input.code", {type: "text", id: key, list: "metric-names", spellcheck: "false", autocomplete: "off", placeholder: hint, "aria-describedby": "metric-trouble"});
		input.addEventListener("change", () => look({[key]: input.value.trim() || defaultMetric(key)}));
		countersSection[key] = input;
		return h("label.grow", {for: key}, label, input);
	};
	state.view.x = state.view.x || defaultMetric("x");
	state.view.y = state.view.y || defaultMetric("y");
	const condition = h("input.code", {type: "text", id: "condition", spellcheck: "false", autocomplete: "off", placeholder: "duration > 1ms && ended = preempted", "aria-label": "condition", "aria-describedby": "metric-trouble"});
	const addCondition = ev => { ev.preventDefault(); tryCondition(condition); };
	Object.assign(countersSection, {time: at("overtime"), scatter: at("scatter"), lanes: at("lanes"), stats: h("div"), correlation: h("div"), sums: h("div"), records: h("div"), figures: h("span#counter-figures", {role: "status"}), trouble: h("p.trouble#metric-trouble", {role: "alert"}), lead: h("p.lead")});
	for (const key of ["time", "scatter", "lanes"]) onWidth(countersSection[key], soon(() => drawCounters("width")));
	const choice = (key, label, list) => h("label", null, label, h("select", {id: "choose-" + key, onchange: ev => look({[key]: ev.target.value})}, list.map(v => h("option", {value: v, selected: state.view[key] === v}, v))));
	const block = (title, ...children) => h("div", null, h("h3", null, title), children);
	return section("counters", "counters", h("p.about", null, "A quantum is a stretch of time for which a goroutine ran without a break. Metrics are names or arithmetic on them, such as 1000 * minor_faults / duration; conditions compare metrics, or test group, func, ended and wait; first(5, gc) are the first five quanta after each collection."),
		countersSection.lead, h("datalist#metric-names", null, namesOf(c).map(n => h("option", {value: n.name}))),
		h("div.fields", null, field("x", "x", "a metric"), field("y", "y", "a metric"), h("button#whole-run", {type: "button", onclick: () => { look({window: -1}); select({time: null}); }}, "whole run"), countersSection.figures),
		h("form.fields", {onsubmit: addCondition}, h("label.grow", {for: "condition"}, "only", condition), h("button", {type: "submit"}, "add"), countersSection.trouble),
		h("div.columns", null, block("over time (drag to select)", countersSection.time), block("scatter of the selection (drag to select)", countersSection.scatter)),
		block("timelines", h("div.fields", null, choice("lanes", "of each", ["goroutine", "proc", "thread", "group"]), field("color", "coloured by", "group")), countersSection.lanes),
		block("statistics of the selection", countersSection.stats), block("sums", h("div.fields", null, choice("table", "by", Object.keys(TABLE_BY))), countersSection.sums),
		block("correlation of all pairs", countersSection.correlation), makeCompare(), block("quanta", countersSection.records), counterSources(c), notes(c.warnings, "notes on counters"));
}

// defaultMetric prefers instructions per cycle, then what the trace always tells.
function defaultMetric(key) {
	if (key === "color") return "";
	const names = namesOf(D.counters).map(n => n.name), has = n => names.includes(n), known = names.filter(n => !Object.hasOwn(BUILTINS, n));
	if (key === "y") return has("instructions") && has("cycles") ? "instructions / cycles" : has("instr") && has("cycles") ? "instr / cycles" : "duration";
	return known.find(n => /miss|fault/.test(n)) || (has("sched_delay") ? "sched_delay" : known[0] || "gap");
}

// counterSources says where each counter comes from, how exact it is, and what belongs to no quantum.
function counterSources(c) {
	return h("details", null, h("summary", null, `where the ${plural(c.counters.length, "counter comes", "counters come")} from`), dataTable({
		id: "source-rows", label: "counters", rows: c.counters, limit: 40,
		columns: [{title: "counter", text: r => r.name, cell: r => h("bdi.code", null, show(r.name, 80))}, {title: "source", text: r => r.source}, {title: "accuracy", text: r => r.accuracy}, {title: "kind", text: r => r.level ? "level" : "change"},
			{title: "total", num: true, value: r => r.total, cell: r => r.level ? "" : measure(r.total, r.unit)}, {title: "of no quantum", num: true, value: r => r.remainder, cell: r => r.level ? "" : measure(r.remainder, r.unit), wide: true}],
	}));
}

// tryCondition adds a condition if it can be parsed.
function tryCondition(input) {
	const text = input.value.trim();
	if (!text) return;
	try {
		parseFilter(text);
	} catch (err) {
		return trouble(err, input);
	}
	input.value = "";
	input.removeAttribute("aria-invalid");
	select({where: [...state.sel.where, text]});
}

function trouble(err, input) {
	fill(countersSection.trouble, err ? (err instanceof SyntaxTrouble ? `${input ? show(input.value || "", 80) + ": " : ""}at character ${err.pos + 1}: ${err.message}` : err.message) : "");
	for (const key of ["x", "y", "color"]) countersSection[key].removeAttribute("aria-invalid");
	if (input) input.setAttribute("aria-invalid", "true");
}

// drawCounters asks the engine about the selection, and draws what it answers, unless the selection has changed meanwhile.
const drawCounters = latest(async (current, what) => {
	const v = state.view, wall = Math.max(1, D.counters.wall), S = countersSection;
	v.x = v.x || defaultMetric("x");
	v.y = v.y || defaultMetric("y");
	for (const key of ["x", "y", "color"]) if (document.activeElement !== S[key]) S[key].value = v[key];
	byID("choose-lanes").value = v.lanes;
	byID("choose-table").value = v.table;
	if (what === "sel") recordView.offset = 0;
	if (what !== "width") drawCompare();
	const filter = filterText(state.sel), [from, to] = state.sel.time || [0, wall];
	const widthOf = e => Math.max(100, Math.min(4000, Math.floor(e.clientWidth || 600)));
	try {
		const all = measures(9), q = {filter, stats: all, correlate: {metrics: all, ranks: true}, table: {by: v.table, metrics: [v.x, v.y], limit: 100},
			rows: {metrics: [v.x, v.y], sort: recordView.sort, descending: recordView.down, offset: recordView.offset, limit: recordView.size},
			lanes: {by: v.lanes, metric: v.color, from, to, width: Math.max(60, widthOf(S.lanes) - 150), limit: lanesShown.n}};
		const [a, time, scatter] = await Promise.all([engine.answer(q), pointsOf(filter, "begin", v.y, S.time, widthOf), pointsOf(filter, v.x, v.y, S.scatter, widthOf)]);
		if (!current()) return;
		trouble(null);
		showCounters(a, {time, scatter, xUnit: a.stats[0].unit, yUnit: a.stats[all.indexOf(v.y)].unit});
	} catch (err) {
		if (!current()) return;
		const part = /^stats\[(\d+)\]/.exec(err.part || "");
		trouble(err, part ? S[Number(part[1]) === 0 ? "x" : "y"] : /lanes/.test(err.part || "") ? S.color : null);
	}
});

// pointsOf gets single points, or their density where they are too many.
async function pointsOf(filter, x, y, host, widthOf) {
	const points = await engine.points(filter, x, y, MOST_POINTS);
	if (points) return {points};
	const width = Math.min(600, Math.floor(widthOf(host) / 3));
	return {density: (await engine.answer({filter, density: {x, y, width, height: Math.floor(width / 2.2)}})).density};
}

function showCounters(a, found) {
	const S = countersSection, v = state.view, at = a.correlation.metrics, i = at.indexOf(a.stats[0].metric), j = at.indexOf(a.stats[measures(9).indexOf(v.y)].metric);
	const r = i >= 0 && j >= 0 ? a.correlation.pearson[i][j] : null;
	const binned = [found.time, found.scatter].some(f => f.density);
	fill(S.figures, h("b#selected-count", null, count(a.count)), ` of ${count(a.of)} quanta`, r === null || i === j ? "" : `   r = ${r.toFixed(3)}`);
	fill(S.lead, `${plural(a.count, "quantum", "quanta")} that ran ${duration(a.duration)}`, binned ? h("span.badge", null, `shown as density: more than ${count(MOST_POINTS)} points`) : "", ".");
	fill(byID("figures"), `${count(a.count)} of ${count(a.of)} quanta`);
	drawOverTime(S.time, found);
	drawScatter(S.scatter, found);
	drawLanes(S.lanes, a.lanes);
	fill(S.stats, statsTable(a.stats));
	fill(S.sums, sumsTable(a.table));
	fill(S.correlation, correlationTable(a.correlation));
	fill(S.records, recordsTable(a.rows));
}
