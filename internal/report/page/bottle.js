// The bottle graph: a box for each group, as tall as its share and as wide as its parallelism, as SVG, of the whole recording or of a
// window, with a table of the same numbers. Boxes are options of a list: up and down move, space selects, with shift or
// ctrl in addition to others.

const bottleSection = {};

// graphAt returns the graph of the current window, of the windows that the selected time touches, or of the whole.
function graphAt() {
	if (state.view.window >= 0) return D.bottle.windows[state.view.window];
	const cover = coveredWindows();
	if (cover && cover.hi === cover.lo) return {start_ns: cover.from, wall_ns: 0, idle_ns: 0, gomaxprocs: D.bottle.gomaxprocs, boxes: []};
	return cover ? sumOfWindows(cover.lo, cover.hi) : D.bottle;
}

const coveredWindows = () => state.view.window < 0 && D.bottle ? covered(bottleEdges(), state.sel.time) : null;

function bottleEdges() {
	const ws = D.bottle.windows;
	return bottleSection.edges ||= {from: ws.map(w => w.start_ns), to: ws.map(w => w.start_ns + w.wall_ns)};
}

// sumOfWindows sums the windows [lo, hi): shares and times. Goroutine counts are known per window only, so the maximum
// is used.
function sumOfWindows(lo, hi) {
	const key = lo + "-" + hi;
	if (bottleSection.sum && bottleSection.sum.key === key) return bottleSection.sum;
	const some = D.bottle.windows.slice(lo, hi), add = f => some.reduce((t, w) => t + f(w), 0), boxes = new Map();
	for (const w of some) {
		for (const b of w.boxes) {
			const t = boxes.get(b.g) || {g: b.g, goroutines: 0, share_ns: 0, running_ns: 0, lost_ns: 0, runnable_ns: 0, in_c_ns: 0, waiting_ns: Object.create(null)};
			t.goroutines = Math.max(t.goroutines, b.goroutines);
			for (const key of ["share_ns", "running_ns", "lost_ns", "runnable_ns", "in_c_ns"]) t[key] += b[key] || 0;
			for (const [reason, ns] of Object.entries(b.waiting_ns)) t.waiting_ns[reason] = (t.waiting_ns[reason] || 0) + ns;
			boxes.set(b.g, t);
		}
	}
	const list = [...boxes.values()].map(b => ({...b, parallelism: b.share_ns > 0 ? b.running_ns / b.share_ns : 0})).sort((a, b) => b.parallelism - a.parallelism || b.share_ns - a.share_ns);
	return bottleSection.sum = {key, start_ns: some[0].start_ns, wall_ns: add(w => w.wall_ns), idle_ns: add(w => w.idle_ns), gomaxprocs: Math.max(...some.map(w => w.gomaxprocs)), capacity_ns: add(w => w.capacity_ns), idle_lost_ns: add(w => w.idle_lost_ns), boxes: list};
}

function makeBottle() {
	const chart = h("div.chart#bottle-chart"), table = h("div.bottle-table"), lead = h("p.lead#bottle-lead");
	const parts = [lead];
	if (D.bottle.windows.length > 1) parts.push(makeWindows());
	parts.push(h("div.columns.bottle-columns", null, chart, table), h("div#behind"), notes(D.bottle.warnings, "notes on the graph"));
	Object.assign(bottleSection, {chart, table, lead, top: false});
	onWidth(chart, drawBottle);
	return section("bottle", "bottle graph", h("p.about", null,
		"Each box is a group of goroutines: as tall as its share of the time, as wide as the number of goroutines that ran during that time. Where few ran, the capacity of the other processors was lost: what lost most of it is the neck, in bold."), parts);
}

function drawBottle() {
	const g = graphAt(), {chart, table, lead} = bottleSection;
	drawLead(lead, g);
	const focus = document.activeElement && chart.contains(document.activeElement) ? document.activeElement.dataset.g : null;
	fill(chart, bottleSVG(g, roomIn(chart)));
	fill(table, bottleTable(g));
	drawWindows();
	if (focus !== null) {
		const again = chart.querySelector(`[data-g="${focus}"]`);
		if (again) again.focus();
	}
}

// inNeck reports whether a box is in the neck of the shown graph. Colors are those of the whole recording.
const inNeck = (b, g) => neckOf(g).has(b);

// drawLead draws the line above the graph.
function drawLead(lead, g) {
	const running = g.boxes.reduce((t, b) => t + b.running_ns, 0), facts = [`${duration(g.wall_ns)} in all${g !== D.bottle ? `, from ${duration(g.start_ns)}` : ""}`];
	if (g.wall_ns > 0) facts.push(`mean ${D.bottle.offered ? "offered " : ""}parallelism ${two(running / g.wall_ns)}`);
	if (g.capacity_ns) facts.push(`${percent(lostOf(g), g.capacity_ns)} of the capacity lost`);
	fill(lead, facts.join(", ") + ".", state.view.window < 0 ? stretchNote(coveredWindows(), "the graph has no windows") : null);
}

// bottleScale returns a scale for the widest box of all windows, so that windows can be compared.
function bottleScale() {
	if (bottleSection.scale) return bottleSection.scale;
	let x = 1;
	for (const g of [D.bottle, ...D.bottle.windows]) for (const b of g.boxes) if (b.share_ns > 0 && b.share_ns >= g.wall_ns / 200) x = Math.max(x, b.parallelism);
	for (const b of D.bottle.boxes) if (b.share_ns > 0) x = Math.max(x, b.parallelism);
	const procs = D.bottle.gomaxprocs;
	if (procs > 0 && procs < 2.5 * x) x = Math.max(x, procs);
	return bottleSection.scale = x * 1.03;
}

function bottleSVG(g, width) {
	const narrow = width < 460, left = narrow ? 56 : 58, right = narrow ? 14 : 120, top = 22, foot = 52;
	const height = Math.round(Math.min(620, Math.max(360, width * 0.72)));
	const w = width - left - right, hgt = height - top - foot;
	const xmax = bottleScale(), total = Math.max(1, g.wall_ns);
	const px = v => left + w / 2 + v / xmax * w / 2, py = v => top + hgt - v / total * hgt;
	const root = drawing("svg.bottle", width, height, {role: "group", "aria-label": "bottle graph; the table has the same numbers"});
	root.append(s("defs", null, ["gc", "runtime", "tracer"].map(k => s(`pattern#hatch-${k}`, {width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${k === "gc" ? 45 : -45})`},
		s("rect", {width: 7, height: 7, fill: "none"}), s("line", {x1: 0, y1: 0, x2: 0, y2: 7, stroke: "#fff", "stroke-width": 2, "stroke-opacity": .35})))));
	drawBottleAxes(root, {left, w, top, hgt, px, py, xmax, total, procs: D.bottle.gomaxprocs, width, height});
	const list = s("g", {role: "listbox", "aria-multiselectable": "true", "aria-label": "groups, the narrowest first from the top"});
	root.append(list);
	let sum = 0;
	const labels = [];
	for (const b of g.boxes) {
		if (!(b.share_ns > 0)) continue;
		const y1 = py(sum += b.share_ns), y0 = py(sum - b.share_ns);
		const box = {b, x: px(-b.parallelism), w: Math.max(1, px(b.parallelism) - px(-b.parallelism)), y: y1, h: y0 - y1};
		list.prepend(drawBox(g, box, labels));
	}
	drawIdle(root, g, px(0), py(sum), py(sum + g.idle_ns));
	placeLabels(root, labels, width - 4, top, top + hgt);
	const first = list.querySelector("[role=option]");
	if (first) first.setAttribute("tabindex", "0");
	return root;
}

// drawBox draws a box with its label inside, if it fits. Other labels are placed later.
function drawBox(g, box, labels) {
	const {b} = box, group = D.groups[b.g], neck = inNeck(b, g), on = state.sel.groups.includes(b.g);
	const facts = `${groupTitle(b.g)}: share ${duration(b.share_ns)} (${percent(b.share_ns, g.wall_ns)}), parallelism ${two(b.parallelism)}, running ${duration(b.running_ns)}${neck ? ", part of the neck" : ""}`;
	const e = s("g.box" + (on ? ".on" : "") + (state.sel.groups.length && !on ? ".off" : ""), {role: "option", tabindex: "-1", "aria-selected": String(on), "aria-label": facts, "data-g": b.g,
		onclick: ev => toggle("groups", b.g, ev.shiftKey || ev.ctrlKey || ev.metaKey), onkeydown: boxKey}, s("title", null, facts));
	const border = box.h >= 3 ? "border" : "thin";
	e.append(s("rect." + border, {x: box.x, y: box.y, width: box.w, height: Math.max(.5, box.h), fill: group.color}));
	if (BY_KIND[group.kind] && box.h >= 3) e.append(s("rect.hatch", {x: box.x, y: box.y, width: box.w, height: box.h, fill: `url(#hatch-${group.kind})`}));
	const label = fitText(groupTitle(b.g), box.w - 14, neck);
	if (box.h >= 17 && label.length >= .6 * groupTitle(b.g).length) {
		e.append(s("text.label" + (neck ? ".b" : ""), {x: box.x + box.w / 2, y: box.y + box.h / 2, "text-anchor": "middle", "dominant-baseline": "central", style: {fill: group.ink}}, label));
	} else if (box.h >= 1.5) {
		labels.push({text: groupTitle(b.g), bold: neck, x: box.x + box.w, y: box.y + Math.min(box.h / 2, box.h - 7), share: b.share_ns});
	}
	return e;
}

const measuring = document.createElement("canvas").getContext("2d");

// fitText shortens a text in its middle to a width. It returns "" if nothing fits.
function fitText(text, width, bold) {
	measuring.font = (bold ? "600 " : "") + "12.5px system-ui, sans-serif";
	const room = t => measuring.measureText(t).width * 1.06;
	if (room(text) <= width) return text;
	let lo = 0, hi = text.length;
	while (lo < hi) {
		const mid = (lo + hi + 1) >> 1;
		if (room(show(text, mid)) <= width) lo = mid;
		else hi = mid - 1;
	}
	return lo > 5 ? show(text, lo) : "";
}

// placeLabels puts labels of small boxes to their right or above, as the boxes below are wider, largest first, while there is room.
function placeLabels(root, labels, right, top, bottom) {
	const taken = [];
	for (const l of labels.sort((a, b) => b.share - a.share).slice(0, 12)) {
		const text = fitText(l.text, right - l.x - 18, l.bold);
		const y = [0, -13, -26, -39].map(d => Math.min(bottom - 6, Math.max(top + 6, l.y + d))).find(y => taken.every(t => Math.abs(t - y) >= 13));
		if (!text || y === undefined) continue;
		taken.push(y);
		root.append(s("path.leader", {d: `M${l.x + 2} ${l.y}L${l.x + 9} ${y}`}), s("text.outside" + (l.bold ? ".b" : ""), {x: l.x + 12, y, "dominant-baseline": "central"}, text));
	}
}

function drawIdle(root, g, x, y0, y1) {
	if (!(g.idle_ns > 0) || y0 - y1 < 1) return; // less is a smudge; the line below the table has it
	const title = `idle: no goroutine ran for ${duration(g.idle_ns)} (${percent(g.idle_ns, g.wall_ns)})`;
	root.append(s("g.idle", null, s("title", null, title), s("path", {d: `M${x} ${y0}V${y1}`, "stroke-dasharray": y0 - y1 < 12 ? null : "4 3"}), s("path", {d: `M${x - 7} ${y1}H${x + 7}`}),
		y0 - y1 >= 15 ? s("text.outside", {x: x + 12, y: (y0 + y1) / 2, "dominant-baseline": "central"}, `idle ${duration(g.idle_ns)}`) : null));
}

function drawBottleAxes(root, a) {
	const {unit, size} = timeScale(a.total), stepY = niceStep(a.total / size, a.hgt / 58);
	const axes = s("g.axes", {"aria-hidden": "true"});
	for (let v = 0; v <= a.total / size * 1.0001; v += stepY) {
		axes.append(s("line", {x1: a.left, x2: a.left + a.w, y1: a.py(v * size), y2: a.py(v * size)}),
			s("text", {x: a.left - 8, y: a.py(v * size), "text-anchor": "end", "dominant-baseline": "central"}, tick(v)));
	}
	const stepX = Math.max(1, Math.ceil(niceStep(a.xmax, a.w / 2 / 52)));
	for (let v = 0; v <= a.xmax; v += stepX) {
		for (const x of v ? [-v, v] : [0]) {
			axes.append(s("line", {x1: a.px(x), x2: a.px(x), y1: a.top, y2: a.top + a.hgt + 4}), s("text", {x: a.px(x), y: a.top + a.hgt + 18, "text-anchor": "middle"}, tick(v)));
		}
	}
	if (a.procs > 0 && a.procs <= a.xmax) {
		for (const x of [-a.procs, a.procs]) axes.append(s("line.limit", {x1: a.px(x), x2: a.px(x), y1: a.top - 6, y2: a.top + a.hgt}));
		axes.append(s("text", {x: Math.min(a.px(a.procs) + 40, a.width - 2), y: a.top - 10, "text-anchor": "end"}, "GOMAXPROCS " + a.procs));
	}
	axes.append(s("text.axis", {x: a.left + a.w / 2, y: a.height - 8, "text-anchor": "middle"}, D.bottle.offered ? "parallelism (goroutines that run or are ready)" : "parallelism (goroutines running at once)"),
		s("text.axis", {x: 12, y: a.top + a.hgt / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${a.top + a.hgt / 2})`}, `execution time (${unit})`));
	root.append(axes);
}

// boxKey handles keys that move between boxes and select them.
function boxKey(ev) {
	const all = [...ev.currentTarget.parentNode.children], i = all.indexOf(ev.currentTarget);
	const to = {ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: all.length - 1}[ev.key];
	if (to !== undefined) {
		const next = all[Math.min(all.length - 1, Math.max(0, to))];
		for (const b of all) b.setAttribute("tabindex", b === next ? "0" : "-1");
		next.focus();
	} else if (ev.key === " " || ev.key === "Enter") {
		toggle("groups", Number(ev.currentTarget.dataset.g), ev.shiftKey || ev.ctrlKey || ev.metaKey);
	} else {
		return;
	}
	ev.preventDefault();
}

// bottleTable has the same numbers, narrowest box first, as in the picture.
function bottleTable(g) {
	const rows = g.boxes.filter(b => b.share_ns > 0 || b.running_ns > 0).reverse(), never = g.boxes.length - rows.length;
	const most = b => Object.entries(b.waiting_ns).filter(([, t]) => t > 0).sort((x, y) => y[1] - x[1] || compareText(x[0], y[0]))[0];
	const place = b => placesOf(b).filter(p => p.reason === most(b)[0]).map(p => p.text).join("");
	const reason = ([r, t]) => `${show(r, 40)} ${duration(t)}`;
	const waits = b => most(b) && [h("div", null, reason(most(b))), h("div.place.muted", {title: place(b)}, place(b))];
	return [dataTable({
		id: "bottle-rows", label: "groups of the bottle graph", rows, limit: 20,
		columns: [
			{title: "group", cell: b => groupName(b.g, innerWidth > 640 ? 27 : 20), text: b => D.groups[b.g].name, strong: b => inNeck(b, g)},
			{title: "share", num: true, value: b => b.share_ns, cell: b => duration(b.share_ns)},
			{title: "", num: true, value: b => b.share_ns, cell: b => percent(b.share_ns, g.wall_ns), plain: true, wide: true},
			{title: "lost", num: true, value: b => b.lost_ns, cell: b => g.capacity_ns ? percent(b.lost_ns, g.capacity_ns) : "–", help: "part of the capacity, GOMAXPROCS × time, that was not used while the group ran"},
			{title: "parallelism", num: true, value: b => b.parallelism, cell: b => two(b.parallelism)},
			{title: "running", num: true, value: b => b.running_ns, cell: b => duration(b.running_ns), wide: true, roomy: true},
			{title: "ready", num: true, value: b => b.runnable_ns || 0, cell: b => b.runnable_ns ? duration(b.runnable_ns) : "", wide: true, help: "ready to run, until they had a processor"},
			...(rows.some(b => b.in_c_ns) ? [{title: "in C", num: true, value: b => b.in_c_ns || 0, cell: b => b.in_c_ns ? duration(b.in_c_ns) : "", wide: true, help: "in C code: part of the running time while a processor was free for it"}] : []),
			{title: "blocked on", cell: waits, text: b => most(b) ? reason(most(b)) : "", wide: true, help: "what it was blocked on longest, and where; select the box for the rest"},
		],
		selected: b => state.sel.groups.includes(b.g), onselect: (b, more) => toggle("groups", b.g, more),
	}), h("p.muted#bottle-idle", null, g.idle_ns > 0 ? `Nothing ran for ${duration(g.idle_ns)} (${percent(g.idle_ns, g.wall_ns)})${g.capacity_ns ? `, which lost ${percent(g.idle_lost_ns, g.capacity_ns)} of the capacity` : ""}. ` : null, never ? `${plural(never, "group", "groups")} never ran. ` : null, g.collector || null)];
}
