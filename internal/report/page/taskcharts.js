// Cumulative distributions of the granularity of tasks, one for each class, on a logarithmic axis. The shaded part is where
// the overhead is 5 % or more of the cost of a task.

const taskAmount = v => D.tasks.byTime ? duration(v) : quantity(v) + (D.tasks.hz > 0 ? ` (${duration(v / D.tasks.hz * 1e9)})` : "");

function drawCDF(at, classes) {
	const width = roomIn(at), narrow = width < 460, left = narrow ? 44 : 58, right = 26, top = 14, foot = 50;
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
		const on = !state.sel.tasks.length || state.sel.tasks.includes(c.class);
		root.append(s("path.curve" + (on ? "" : ".off"), {d: path, stroke: c.color, onclick: ev => toggle("tasks", c.class, ev.shiftKey || ev.ctrlKey || ev.metaKey)}, s("title", null, `${show(c.short)}: ${plural(c.tasks, "task", "tasks")}, median ${taskAmount(c.q.p50)}`)));
	}
	fill(at, root);
}

// The workload over time: a row for each class with the number of its tasks in progress; context switches and the use of
// the processors; lines for pauses of the collector. A drag selects an interval.

function drawStrip(at, classes) {
	const t = D.tasks, width = roomIn(at), left = width < 460 ? 44 : 58, right = 16, w = width - left - right;
	let end = Math.max(1, t.run_ns);
	for (const c of classes) if (c.levels.length) end = Math.max(end, c.levels[c.levels.length - 1][1]);
	const px = v => left + Math.min(1, Math.max(0, v / end)) * w;
	const g = s("g"), bands = [], a = {left, w, px, bands}; // bands are where bars are: [top, base]
	let y = 8;
	for (const c of classes) y = stripRow(g, c, y, a);
	if (t.samples.length) {
		y = stripPanel(g, t.switches + " a second", y, a, v => v.wall_ns > 0 ? (v.voluntary + v.involuntary) / v.wall_ns * 1e9 : 0, v => quantity(v));
		y = stripPanel(g, t.utilization[0], y, a, v => v.utilization, v => Math.round(100 * v) + "%", 1);
	}
	const height = y + 46, {unit, size} = timeScale(end), step = niceStep(end / size, w / 84);
	const axes = s("g.axes", {"aria-hidden": "true"});
	for (let v = 0; v <= end / size * 1.0001; v += step) axes.append(s("line", {x1: px(v * size), x2: px(v * size), y1: 4, y2: y + 4}), s("text", {x: px(v * size), y: y + 18, "text-anchor": "middle"}, tick(v)));
	axes.append(s("text.axis", {x: left + w / 2, y: height - 6, "text-anchor": "middle"}, `time (${unit})`));
	const root = drawing("svg.plot", width, height, {role: "img", "aria-label": "tasks over time: " + classes.map(c => `${show(c.short, 60)} ${plural(c.tasks, "task", "tasks")}`).join(", ")}, axes, g);
	const pauses = t.gc_pauses.map(p => bands.map(([from, to]) => `M${px(p.at_ns - p.length_ns / 2 - t.start_ns).toFixed(1)} ${from}V${to}`).join("")).join("");
	if (pauses) root.append(s("path.pauses", {d: pauses}, s("title", null, `${plural(t.gc_pauses.length, "pause", "pauses")} of the garbage collector`)));
	if (state.sel.time) root.append(s("rect.chosen", {x: px(state.sel.time[0]), width: Math.max(1, px(state.sel.time[1]) - px(state.sel.time[0])), y: 2, height: y}));
	fill(at, root, ...t.samples.length ? t.utilization.slice(1).map(u => h("p.muted", null, u + ".")) : []);
	dragTime(at, root, x => (x / zoom() - left) / w * end);
}

function stripRow(g, c, y, a) {
	const level = c.levels.map(([from, to, busy]) => to > from ? busy / (to - from) : 0), most = Math.max(1e-9, ...level);
	const base = y + 48, on = !state.sel.tasks.length || state.sel.tasks.includes(c.class);
	let path = "";
	c.levels.forEach(([from, to], i) => {
		const x0 = a.px(from), x1 = Math.max(a.px(to), x0 + .7), h0 = Math.max(.8, 28 * level[i] / most);
		if (level[i] > 0) path += `M${x0.toFixed(1)} ${base}V${(base - h0).toFixed(1)}H${x1.toFixed(1)}V${base}Z`;
	});
	a.bands.push([base - 28, base]);
	const bad = badTasks(c), after = plural(c.tasks, "task", "tasks") + (most > 1e-9 ? `, up to ${quantity(most)} at once` : "");
	const room = Math.max(60, a.w - after.length * 6.4 - 12);
	g.append(s("g" + (on ? "" : ".off"), null, s("title", null, show(c.short)), s("text.label" + (bad ? ".b" : ""), {x: a.left, y: y + 14}, fitText(show(c.short), room, bad) || "…"),
		a.w > 260 ? s("text.muted", {x: a.left + a.w, y: y + 14, "text-anchor": "end"}, after) : null, s("path", {d: path, fill: c.color}), s("line.base", {x1: a.left, x2: a.left + a.w, y1: base, y2: base})));
	return base + 8;
}

function stripPanel(g, title, y, a, value, write, top) {
	const values = D.tasks.samples.map(value), most = top || Math.max(1e-9, ...values), base = y + 92;
	const label = [title, title.replace(/ of .* by /, " by "), title.replace(/ of [^:]*/, ""), title.replace(/ of [^:]*|\s\(.*/g, "")].find(t => fitText(t, a.w) === t) || fitText(title, a.w);
	g.append(s("g", null, s("title", null, title), s("text.label", {x: a.left, y: y + 18}, label)));
	for (const f of [0, .5, 1]) g.append(s("g.axes", null, s("line", {x1: a.left, x2: a.left + a.w, y1: base - 62 * f, y2: base - 62 * f}), s("text", {x: a.left - 6, y: base - 62 * f, "text-anchor": "end", "dominant-baseline": "central"}, write(f * most))));
	a.bands.push([base - 62, base]);
	const steps = value => D.tasks.samples.filter(v => !v.excluded && value(v) > 0).map(v => `M${a.px(v.at_ns - v.wall_ns - D.tasks.start_ns).toFixed(1)} ${base}V${(base - 62 * Math.min(1, value(v) / most)).toFixed(1)}H${a.px(v.at_ns - D.tasks.start_ns).toFixed(1)}V${base}Z`).join("");
	g.append(s("path.machine", {d: steps(value)}));
	const throttled = v => v.wall_ns > 0 && D.tasks.gomaxprocs > 0 ? (v.throttled_ns || 0) / v.wall_ns / D.tasks.gomaxprocs : 0;
	if (top && steps(throttled)) g.append(s("path.throttled", {d: steps(throttled)}, s("title", null, "processors that the control group's quota took away")));
	return base + 8;
}

// dragTime selects an interval by dragging over a picture in host. timeAt returns the time at a pixel of the picture. click, if given,
// gets the event if the pointer was not dragged.
function dragTime(host, picture, timeAt, click) {
	let from = null, mark = null;
	const x = ev => Math.min(picture.getBoundingClientRect().width, Math.max(0, ev.clientX - picture.getBoundingClientRect().x));
	const end = () => {
		if (mark) mark.remove();
		from = mark = null;
	};
	picture.addEventListener("pointerdown", ev => { if (ev.button === 0) { from = x(ev); picture.setPointerCapture(ev.pointerId); } });
	picture.addEventListener("pointermove", ev => {
		if (from === null || Math.abs(x(ev) - from) < 4 && !mark) return;
		const at = picture.getBoundingClientRect(), origin = host.getBoundingClientRect();
		if (!mark) host.append(mark = h("div.mark", {style: {top: at.y - origin.y + "px", height: at.height + "px"}}));
		mark.style.setProperty("left", at.x - origin.x + Math.min(from, x(ev)) + "px");
		mark.style.setProperty("width", Math.abs(x(ev) - from) + "px");
	});
	picture.addEventListener("pointercancel", end);
	picture.addEventListener("pointerup", ev => {
		if (from === null) return;
		const range = [timeAt(Math.min(from, x(ev))), timeAt(Math.max(from, x(ev)))], dragged = !!mark;
		end();
		if (dragged) selectTime(...range);
		else if (click) click(ev);
	});
}

// selectTime selects an interval of the recording.
function selectTime(from, to) {
	from = Math.round(Math.max(0, Math.min(from, D.wall || Infinity)));
	to = Math.round(Math.max(0, Math.min(to, D.wall || Infinity)));
	if (to <= from) return;
	state.view = {...state.view, window: -1};
	select({time: [from, to]});
	say(`time ${duration(from)} to ${duration(to)}`);
}
