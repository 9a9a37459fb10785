// The selected boxes: their goroutines, and what these waited for.

function drawBehind() {
	const at = byID("behind");
	if (!at) return;
	const groups = state.sel.groups.filter(g => D.groups[g]);
	if (!groups.length) return fill(at);
	const rows = D.goroutines.filter(r => groups.includes(r.g));
	const starts = [...new Set(graphAt().boxes.filter(b => groups.includes(b.g)).flatMap(b => b.starts || []))];
	fill(at, h("div.panel", {role: "region", "aria-labelledby": "behind-title"},
		h("h3#behind-title", null, "behind ", groups.map((g, i) => [i ? ", " : "", groupName(g)])),
		starts.length ? h("p.muted", null, "started as ", starts.map((f, i) => [i ? ", " : "", h("bdi.code", null, show(f, 200))])) : null,
		h("div.columns", null, waitBars(groups), rows.length ? goroutineTable(rows) : h("p.muted", null, D.bottle.group_by && D.bottle.group_by !== "function" ? "Single goroutines are shown for graphs by function." : "The recording does not tell single goroutines apart."))));
}

// waitBars shows how the goroutines of the groups spent the selected window.
function waitBars(groups) {
	const parts = new Map([["running", 0], ["ready to run", 0]]);
	for (const b of graphAt().boxes) {
		if (!groups.includes(b.g)) continue;
		parts.set("running", parts.get("running") + b.running_ns);
		parts.set("ready to run", parts.get("ready to run") + (b.runnable_ns || 0));
		for (const [reason, t] of Object.entries(b.waiting_ns)) parts.set("blocked: " + reason, (parts.get("blocked: " + reason) || 0) + t);
	}
	const rows = [...parts].filter(([, t]) => t > 0).sort((a, b) => b[1] - a[1]);
	const places = graphAt().boxes.filter(b => groups.includes(b.g)).flatMap(placesOf).sort((a, b) => b.ns - a.ns);
	const most = places.length ? h("ul.places", null, places.slice(0, 8).map(p => h("li", null, `${show(p.reason, 40)}: ${duration(p.ns)} at `, h("bdi", null, show(p.text, 120))))) : null;
	return h("div", null, h("h4", null, "how their time passed" + (graphAt() !== D.bottle ? " in the selected windows" : "")), barTable("time of the goroutines by what they did", rows, rows.reduce((t, r) => t + r[1], 0)), most);
}

// placesOf returns the largest known place of each reason for which a box waited.
const placesOf = b => Object.entries(b.waiting_sites || {}).map(([reason, sites]) => ({reason, ...sites.find(s => !["(unknown)", "(others)"].includes(s.function))})).filter(p => p.function)
	.map(p => ({...p, text: show(shortFunc(p.function) + (p.file ? ` ${p.file.split(/[\\/]/).pop()}:${p.line}` : ""))}));

// barTable shows times as bars. Rows are [name, time], longest first.
function barTable(label, rows, total) {
	const most = rows.length ? rows[0][1] : 1, kind = what => /^r(unning|an)$/.test(what) ? ".run" : what.startsWith("ready") ? ".ready" : ".wait";
	return h("table.bars", null, h("caption.unseen", null, label), h("thead.unseen", null, h("tr", null, h("th", {scope: "col"}, "state"), h("th", {scope: "col"}, "time"), h("th", {scope: "col"}, "part"), h("th", {scope: "col"}, "bar"))),
		h("tbody", null, rows.map(([what, t]) => h("tr", null, h("th", {scope: "row"}, show(what)), h("td.num", null, duration(t)), h("td.num.muted", null, percent(t, total)),
			h("td.bar", null, h("span" + kind(what), {style: {width: 100 * t / most + "%"}}))))));
}

function goroutineTable(rows) {
	const longest = r => {
		const [reason, t] = Object.entries(r.waiting_ns).sort((a, b) => b[1] - a[1])[0] || [];
		return reason ? `${show(reason)} ${duration(t)}` : "";
	};
	return h("div", null, h("h4", null, plural(rows.length, "goroutine", "goroutines") + ", of the whole recording"), dataTable({
		id: "goroutine-rows", label: "goroutines of the selected groups", rows, limit: 10,
		columns: [
			{title: "goroutine", value: r => r.id, cell: r => r.id ? String(r.id) : h("bdi", null, show(r.group))},
			{title: "share", num: true, value: r => r.share_ns, cell: r => duration(r.share_ns)},
			{title: "parallelism", num: true, value: r => r.parallelism, cell: r => two(r.parallelism)},
			{title: "running", num: true, value: r => r.running_ns, cell: r => duration(r.running_ns)},
			{title: "ready", num: true, value: r => r.runnable_ns, cell: r => duration(r.runnable_ns), wide: true},
			{title: "blocked on", text: longest, cell: longest},
		],
		selected: r => r.id > 0 && state.sel.goroutines.includes(r.id), onselect: (r, more) => { if (r.id) toggle("goroutines", r.id, more); },
	}));
}

// jump scrolls to a section without changing the address, which holds the state.
const jump = id => ev => {
	ev.preventDefault();
	const title = byID(id + "-title");
	title.setAttribute("tabindex", "-1");
	title.scrollIntoView({block: "start"});
	title.focus({preventScroll: true});
};
