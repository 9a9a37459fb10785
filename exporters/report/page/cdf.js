// Distributions of the granularity of tasks: for each class the part of its tasks that execute at most so much, on a logarithmic axis.
// Shaded is where the overhead of a task is 5 % or more of its cost.

const taskAmount = v => D.tasks.byTime ? duration(v) : quantity(v) + (D.tasks.hz > 0 ? ` (${duration(v / D.tasks.hz * 1e9)})` : "");

function drawCDF(at, classes) {
	const width = roomIn(at), narrow = width < 460, left = narrow ? 44 : 58, right = 16, top = 14, foot = 50;
	const height = Math.round(Math.min(460, Math.max(280, width * 0.5))), w = width - left - right, hgt = height - top - foot;
	let lo = Infinity, hi = -Infinity;
	for (const c of classes) for (const [v] of c.curve) if (v > 0) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
	if (!(hi > 0)) return fill(at, h("p.muted", null, classes.length || !D.tasks.classes.length ? "No task was measured." : "No tasks of the selection."));
	const d0 = Math.floor(Math.log10(lo)), d1 = Math.max(d0 + 1, Math.ceil(Math.log10(hi)));
	const px = v => left + (Math.log10(Math.max(v, 10 ** d0)) - d0) / (d1 - d0) * w, py = f => top + hgt - f * hgt;
	const root = drawing("svg.plot", width, height, {role: "img", "aria-label": "distributions of granularity; the table has their quantiles"});
	const fine = D.tasks.fineBelow;
	if (fine > Math.pow(10, d0)) root.append(s("rect.shade", {x: left, y: top, width: Math.min(w, px(fine) - left), height: hgt}), s("text.muted", {x: left + 8, y: top + 16}, "fine-grained"));
	const axes = s("g.axes", {"aria-hidden": "true"});
	for (const f of [0, .25, .5, .75, 1]) axes.append(s("line", {x1: left, x2: left + w, y1: py(f), y2: py(f)}), s("text", {x: left - 8, y: py(f), "text-anchor": "end", "dominant-baseline": "central"}, 100 * f + "%"));
	const every = Math.ceil((d1 - d0) / Math.max(1, w / 62));
	for (let d = d0; d <= d1; d += every) {
		const x = px(Math.pow(10, d)), v = Math.pow(10, d);
		axes.append(s("line", {x1: x, x2: x, y1: top, y2: top + hgt + 4}), s("text", {x, y: top + hgt + 19, "text-anchor": "middle"}, D.tasks.byTime ? duration(v) : quantity(v)));
	}
	axes.append(s("text.axis", {x: left + w / 2, y: height - 6, "text-anchor": "middle"}, D.tasks.byTime ? "granularity (running time)" : "granularity (reference cycles)"));
	root.append(axes);
	for (const c of [...classes].reverse()) {
		let path = "", before = 0;
		for (const [v, f] of c.curve) {
			path += `${path ? "L" : "M"}${px(v).toFixed(1)} ${py(before).toFixed(1)}V${py(f).toFixed(1)}`;
			before = f;
		}
		const on = !state.sel.tasks.length || state.sel.tasks.includes(c.name);
		root.append(s("path.curve" + (on ? "" : ".off"), {d: path, stroke: c.color, onclick: ev => toggle("tasks", c.name, ev.shiftKey || ev.ctrlKey || ev.metaKey)}, s("title", null, `${show(c.short)}: ${plural(c.tasks, "task", "tasks")}, median ${taskAmount(c.q.p50)}`)));
	}
	fill(at, root);
}
