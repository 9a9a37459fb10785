// The tasks section: distributions, the workload over time, the table of classes with diagnoses, and the advice.

const taskSection = {};
// badTasks reports whether the diagnosis of a class suggests a change.
const badTasks = c => c.diagnosis === "fine" || c.diagnosis === "coarse" || c.diagnosis === "blocked";

const CURVES = 8; // classes with a curve of their own

function makeTasks() {
	const t = D.tasks;
	t.classes.forEach((c, i) => {
		const wall = c.wall_ns.sum, times = [t.start_ns, ...c.series.map(b => b.at_ns)];
		Object.assign(c, {short: t.short[i], color: LINES[i % LINES.length], q: granularityOf(c) || {}, curve: curveOf(addHistograms([granularityOf(c)])), blocked: wall > 0 ? c.blocked_ns.sum / wall : null,
			levels: c.series.map((b, k) => [times[k] - t.start_ns, b.at_ns - t.start_ns, b.busy_ns])});
	});
	const cdf = h("div.chart"), strip = h("div.chart"), table = h("div"), advice = h("div#advice.columns");
	Object.assign(taskSection, {cdf, strip, table, advice, lead: h("p.lead#tasks-lead")});
	onWidth(cdf, () => drawTaskCharts());
	const known = t.overhead_ns > 0 ? `The overhead of a task, ${duration(t.overhead_ns)}, is ${show(t.overhead_origin || "known", 200)}. Shaded: it is 5% or more of the task’s cost. ` : "";
	return section("tasks", "tasks", h("p.about", null, `How large tasks are, and whether that is a sensible size. ${known}Source: ${show(t.source)}, accuracy: ${show(t.accuracy)}.`), taskSection.lead,
		h("div.columns", null, h("div", null, h("h3", null, "part of the tasks that execute at most so much"), cdf), h("div", null, h("h3", null, "workload over time"), strip)), table, advice, notes(t.warnings, "notes on tasks"));
}

// taskFilter reports whether a class is selected: itself, or by a selected group in its name or call chains.
function taskFilter(sel) {
	const names = sel.groups.map(g => D.groups[g].name);
	const about = (text, n) => text === n || text.startsWith(n + " ") || text.startsWith(n + ".func");
	return c => (!sel.tasks.length || sel.tasks.includes(c.class)) && (!names.length || names.some(n => about(c.class, n) ||
		c.sites.some(site => [...site.created || [], ...site.submitted || []].some(f => about(f.func, n) || about(f.func, shortFunc(n))))));
}

// taskClasses returns all classes with the tasks that ended in the windows of the selected time.
function taskClasses() {
	const cover = covered(D.tasks.windows, state.sel.time);
	return cover ? D.tasks.classes.map(c => classIn(c, cover.lo, cover.hi)).filter(c => c.tasks > 0) : D.tasks.classes;
}

// shownClasses returns the classes of the selected groups; selected classes come first, in full color.
const shownClasses = () => taskClasses().filter(taskFilter({...state.sel, tasks: []}));

function drawTaskCharts() {
	const some = shownClasses().slice(0, CURVES);
	drawCDF(taskSection.cdf, some);
	drawStrip(taskSection.strip, some);
}

function drawTasks() {
	if (!D.tasks || !byID("tasks")) return;
	const rows = shownClasses(), tasks = rows.reduce((t, c) => t + c.tasks, 0), bad = rows.filter(badTasks);
	fill(taskSection.lead, h("b", null, plural(tasks, "task", "tasks")), ` of ${plural(rows.length, "class", "classes")}`,
		bad.length ? ["; too small (fine), too large (coarse) or blocked: ", bad.slice(0, 3).map((c, i) => [i ? ", " : "", h("b", null, name(c.class, c.short)), ` (${c.diagnosis})`])] : "; none is known to be too small, too large or mostly blocked", ".",
		state.sel.groups.length ? h("span.muted", null, " Those whose class or call chain names a selected group.") : null,
		stretchNote(covered(D.tasks.windows, state.sel.time), "the profile does not say when tasks ended"),
		rows.some(c => c.partial) ? h("span.muted", null, " Diagnoses, advice and places are of the whole recording.") : null);
	drawTaskCharts();
	const q = key => ({title: key, num: true, value: c => c.q[key], cell: c => !c.tasks ? "–" : D.tasks.byTime ? duration(c.q[key]) : quantity(c.q[key])});
	fill(taskSection.table, dataTable({
		id: "class-rows", label: "classes of tasks", rows, limit: 12,
		columns: [
			{title: "class", text: c => c.class, cell: c => h("span.group", null, swatch(c.color), name(c.class, c.short))}, {title: "tasks", num: true, value: c => c.tasks, cell: c => count(c.tasks)},
			{...q("p1"), wide: true}, {...q("p25"), wide: true}, q("p50"), {...q("p75"), wide: true}, {...q("p99"), wide: true}, {...q("mean"), wide: true},
			{title: "blocked", num: true, value: c => c.blocked ?? NaN, cell: c => c.blocked === null ? "–" : percent(c.blocked, 1), wide: true}, {title: "diagnosis", text: c => c.diagnosis || "unknown", strong: badTasks},
		],
		selected: c => state.sel.tasks.includes(c.class), onselect: (c, more) => toggle("tasks", c.class, more),
	}));
	const shown = rows.filter(c => state.sel.tasks.length ? state.sel.tasks.includes(c.class) : c.advice.length).slice(0, 6);
	fill(taskSection.advice, shown.map(adviceCard));
}

const frameText = f => f ? f.func + (f.file ? ` (${f.file.split("/").pop()}:${f.line})` : "") : "(not known)";
function adviceCard(c) {
	return h("div.panel", null, h("h3", null, swatch(c.color), name(c.class, c.short), `: ${c.diagnosis || "unknown"}`), h("ul", null, c.reasons.slice(0, c.reasons.length - c.advice.length).map(r => h("li", null, show(r, 500)))),
		c.advice.length ? h("ul.advice", null, c.advice.map(a => h("li", null, show(a, 500)))) : null,
		c.sites.length ? h("p", null, "created at ", c.sites.slice(0, 4).map((site, i) => [i ? ", " : "", h("bdi.code", null, show(frameText((site.created || [])[0]), 200)), ` (${plural(site.tasks, "task", "tasks")}${site.pool ? ", pool " + show(site.pool, 60) : ""})`])) : null);
}
