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
	const check = (id, axis, label) => h("label.switch", null, h("input", {type: "checkbox", id, checked: isLog(axis), onchange: ev => look({log: "xy".split("").filter(a => a === axis ? ev.target.checked : isLog(a)).join("")})}), label);
	const block = (title, ...children) => h("div", null, h("h3", null, title), children);
	return section("counters", "counters", h("p.about", null, "A quantum is a stretch of time for which a goroutine ran without a break. Metrics are names or arithmetic on them, such as 1000 * minor_faults / duration; conditions compare metrics, or test group, func, ended and wait; first(5, gc) are the first five quanta after each collection."),
		countersSection.lead, h("datalist#metric-names", null, namesOf(c).map(n => h("option", {value: n.name}))),
		h("div.fields", null, h("span.pair", null, field("x", "x", "a metric"), check("log-x", "x", "log")), h("span.pair", null, field("y", "y", "a metric"), check("log-y", "y", "log")), h("button#whole-run", {type: "button", onclick: () => { look({window: -1}); select({time: null}); }}, "whole run"), countersSection.figures),
		h("form.fields", {onsubmit: addCondition}, h("label.grow", {for: "condition"}, "only", condition), h("button", {type: "submit"}, "add"), countersSection.trouble),
		h("div.columns", null, block("over time (drag to select)", countersSection.time), block("scatter of the selection (drag to select)", countersSection.scatter)),
		block("timelines", h("div.fields", null, choice("lanes", "of each", ["goroutine", "proc", "thread", "group"]), field("color", "coloured by", "group")), countersSection.lanes),
		block("statistics of the selection", countersSection.stats), block("sums", h("div.fields", null, choice("table", "by", Object.keys(TABLE_BY))), countersSection.sums),
		block("correlation of all pairs", countersSection.correlation), makeCompare(), block("quanta", countersSection.records), counterSources(c), notes(c.warnings, "notes on counters"));
}

// isLog tells whether an axis is logarithmic.
const isLog = axis => state.view.log.includes(axis);

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
		checkNames("filter", text, parseFilter);
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

// drawCounters draws the section soon: several reasons to do so that come at once are one.
const reasons = new Set();
function drawCounters(what) {
	if (!reasons.size) setTimeout(() => {
		const all = new Set(reasons);
		reasons.clear();
		askAndDraw(all);
	}, 15);
	reasons.add(what);
}

// breathe lets the browser show what there is before the next long computation.
const breathe = () => new Promise(done => setTimeout(done));

// askAndDraw asks the engine about the selection, and draws what it answers, unless the selection has changed meanwhile.
const askAndDraw = latest(async (current, why) => {
	const v = state.view, wall = Math.max(1, D.counters.wall), S = countersSection;
	v.x = v.x || defaultMetric("x");
	v.y = v.y || defaultMetric("y");
	for (const key of ["x", "y", "color"]) if (document.activeElement !== S[key]) S[key].value = v[key];
	byID("choose-lanes").value = v.lanes;
	byID("choose-table").value = v.table;
	byID("log-x").checked = isLog("x");
	byID("log-y").checked = isLog("y");
	if (why.has("sel")) recordView.offset = 0;
	if (why.size > 1 || !why.has("width")) drawCompare();
	const filter = filterText(state.sel), [from, to] = state.sel.time || [0, wall];
	const widthOf = e => Math.max(100, Math.min(4000, Math.floor(e.clientWidth || 600)));
	const answer = q => engine.answer({filter, ...q});
	try {
		for (const [part, text] of [["x", v.x], ["y", v.y], ["lanes", v.color]]) if (text) checkNames(part, text, parseMetric);
		checkNames("filter", filter, parseFilter);
		engine.overtake();
		// What is looked at first comes first; the tables follow.
		const [a, time, scatter] = await Promise.all([
			answer({lanes: {by: v.lanes, metric: v.color, from, to, width: Math.max(60, widthOf(S.lanes) - 150), limit: lanesShown.n}}),
			pointsOf(filter, "begin", v.y, S.time, widthOf), pointsOf(filter, v.x, v.y, S.scatter, widthOf)]);
		if (!current()) return;
		trouble(null);
		const begin = performance.now();
		showCharts(a, {time, scatter, xUnit: metricUnit(v.x), yUnit: metricUnit(v.y)});
		document.documentElement.dataset.drawn = String(performance.now() - begin); // for the benchmark
		await breathe();
		if (!current()) return;
		const all = measures(9);
		const tables = await answer({stats: all, table: {by: v.table, metrics: [v.x, v.y], limit: 100}, rows: {metrics: [v.x, v.y], sort: recordView.sort, descending: recordView.down, offset: recordView.offset, limit: recordView.size}});
		if (!current()) return;
		showTables(tables);
		await breathe();
		if (!current()) return;
		const pairs = await answer({correlate: {metrics: all, ranks: tables.count <= MOST_RANKS}});
		if (!current()) return;
		showPairs(pairs, all);
		document.documentElement.dataset.answered = String(++answered);
	} catch (err) {
		if (!current() || err.name === "AbortError") return;
		const field = {x: S.x, y: S.y, density: S.y, lanes: S.color}[(err.part || "").replace(/\[.*/, "")];
		trouble(err, field || null);
	}
});

let answered = 0; // how often everything was answered, for tests

const MOST_RANKS = 200000; // more quanta than that are correlated by values, but not by ranks

// pointsOf gets single points, or their density where they are too many.
async function pointsOf(filter, x, y, host, widthOf) {
	const points = await engine.points(filter, x, y, MOST_POINTS);
	if (points) return {points};
	const width = Math.min(600, Math.floor(widthOf(host) / 3));
	return {density: (await engine.answer({filter, density: {x, y, width, height: Math.floor(width / 2.2), log_x: x !== "begin" && isLog("x"), log_y: isLog("y")}})).density};
}

function showCharts(a, found) {
	const S = countersSection, binned = [found.time, found.scatter].some(f => f.density);
	fill(S.figures, h("b#selected-count", null, count(a.count)), ` of ${count(a.of)} quanta`);
	fill(S.lead, `${plural(a.count, "quantum", "quanta")} that ran ${duration(a.duration)}`, binned ? h("span.tag", null, `shown as density: more than ${count(MOST_POINTS)} points`) : "", ".");
	fill(byID("figures"), `${count(a.count)} of ${count(a.of)} quanta`);
	drawOverTime(S.time, found);
	drawScatter(S.scatter, found);
	drawLanes(S.lanes, a.lanes);
}

function showTables(a) {
	const S = countersSection;
	fill(S.stats, statsTable(a.stats));
	fill(S.sums, sumsTable(a.table));
	fill(S.records, recordsTable(a.rows));
}

// showPairs shows the correlations; that of x and y stands beside their fields, too.
function showPairs(a, all) {
	const S = countersSection, c = a.correlation, i = all.indexOf(state.view.x), j = all.indexOf(state.view.y), r = c.pearson[i][j];
	fill(S.correlation, correlationTable(c));
	fill(S.figures, h("b#selected-count", null, count(a.count)), ` of ${count(a.of)} quanta`, r === null || i === j ? "" : `\u2003r = ${r.toFixed(3).replace("-", "−")}`);
}
