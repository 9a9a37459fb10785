// Timelines: a row for each goroutine, processor, thread or group; intervals have the color of a metric or of the group.

const lanesShown = {n: 40};
const MOST_LANES = 1000; // that can be asked for

// laneHeight returns the height of a lane in pixels.
const laneHeight = () => Math.round(17 * zoom());

function drawLanes(host, a) {
	const names = h("ul.lane-names"), canvas = h("canvas", {role: "img", tabindex: "-1", "aria-label": `timelines of ${a.lanes.length} lanes by ${a.by}${a.metric ? ", colored by " + a.metric : ""}; the table by ${a.by} has sums`});
	const box = h("div.draggable");
	fill(host, h("div.lane-list", null, names, box), h("div.fields", null, laneScale(a), glyphLegend(a), laneMore(a)));
	box.append(canvas);
	const width = Math.max(120, box.clientWidth), height = a.lanes.length * laneHeight() + 26 * zoom(), dpr = devicePixelRatio;
	canvas.width = width * dpr;
	canvas.height = height * dpr;
	canvas.style.setProperty("width", width + "px");
	canvas.style.setProperty("height", height + "px");
	for (const lane of a.lanes) names.append(laneName(a, lane));
	const ctx = canvas.getContext("2d");
	ctx.scale(dpr, dpr);
	paintLanes(ctx, a, width, height);
	dragTime(box, canvas, x => a.from + x / width * (a.to - a.from), ev => {
		const lane = Math.floor((ev.clientY - canvas.getBoundingClientRect().y) / laneHeight());
		if (a.lanes[lane]) names.querySelectorAll("button")[lane].click();
	});
}

function laneName(a, lane) {
	const g = a.by === "group" ? groupOf(lane.key) : lane.group === undefined || lane.group === null ? -1 : groupOf(lane.group);
	const key = {goroutine: "goroutines", proc: "procs", thread: "threads", group: "groups"}[a.by], value = a.by === "group" ? g : lane.number;
	const on = value !== undefined && value !== null && state.sel[key].includes(value);
	const words = a.by === "goroutine" ? `${lane.number} ${g >= 0 ? groupTitle(g) : ""}` : a.by === "group" ? groupTitle(g) : lane.number !== undefined ? `${a.by === "proc" ? "P" : "thread"} ${lane.number}` : "not known";
	return h("li" + (on ? ".on" : ""), {style: {height: laneHeight() + "px"}}, h("button", {type: "button", title: `${show(words, 300)}: ran ${duration(lane.busy)} in ${plural(lane.quanta, "quantum", "quanta")}`, "aria-pressed": String(on), disabled: value === undefined || value === null || value === -1,
		onclick: ev => toggle(key, value, ev.shiftKey || ev.ctrlKey || ev.metaKey)}, g >= 0 ? swatch(D.groups[g].color) : null, h("bdi", null, show(words, 60))));
}

// valueRange returns the range of the metric for the colors: from the 2nd to the 98th percentile of the cells, so that a few
// extremes do not hide the rest.
function valueRange(a) {
	const v = [];
	for (const lane of a.lanes) for (const c of lane.cells) if (c[5] !== null) v.push(c[5]);
	v.sort((x, y) => x - y);
	return v.length ? [v[rank(.02, v.length)], v[rank(.98, v.length)]] : [0, 1];
}

function paintLanes(ctx, a, width, height) {
	const LANE = laneHeight(), scale = width / a.width, dark = isDark(), palest = dark ? .55 : .35, [lo, hi] = a.range = valueRange(a);
	ctx.fillStyle = theme("grid");
	a.lanes.forEach((_, i) => ctx.fillRect(0, i * LANE + LANE - 1, width, 1));
	a.lanes.forEach((lane, i) => {
		const g = a.by === "group" ? groupOf(lane.key) : lane.group === undefined || lane.group === null ? -1 : groupOf(lane.group), color = g >= 0 ? D.groups[g].color : "#8c96a3";
		for (const [x, w, busy, , , value, ended] of lane.cells) {
			const full = busy / (w * (a.to - a.from) / a.width);
			if (!a.metric) ctx.fillStyle = color;
			else if (value === null) ctx.fillStyle = theme("limit");
			else ctx.fillStyle = rgb(ramp(hi > lo ? (value - lo) / (hi - lo) : .5, dark));
			ctx.globalAlpha = palest + (1 - palest) * Math.min(1, full);
			ctx.fillRect(x * scale, i * LANE + 2, Math.max(1, w * scale), LANE - 5);
			paintGlyph(ctx, ended, (x + w) * scale, i * LANE + (LANE - 1) / 2);
		}
	});
	ctx.globalAlpha = 1;
	const {unit, size} = timeScale(a.to), step = niceStep((a.to - a.from) / size, width / 64 / zoom()) * size;
	ctx.fillStyle = theme("muted");
	ctx.font = font();
	ctx.textAlign = "center";
	for (const v of stepsIn(a.from, a.to, step)) {
		const x = (v - a.from) / (a.to - a.from) * width;
		ctx.fillStyle = theme("grid");
		ctx.fillRect(x, 0, 1, height - 20 * zoom());
		ctx.fillStyle = theme("muted");
		const last = x + step / (a.to - a.from) * width >= width - 22; // of those with a label: it has the unit
		if (x > 18 && x < width - 22) ctx.fillText(tick(v / size) + (last ? " " + unit : ""), x, height - 6);
	}
}

// GLYPHS show how quanta ended: paths around the end of the quantum, in units of a glyph.
const GLYPHS = {preempted: "M-6-3.5L0 0L-6 3.5Z", yielded: "M-6 0L-3-3.5L0 0L-3 3.5Z", blocked: "M-6-3H0V3H-6Z"};

function paintGlyph(ctx, ended, x, y) {
	if (!GLYPHS[ended]) return;
	ctx.save();
	ctx.translate(x - 1, y);
	ctx.scale(zoom(), zoom());
	ctx.globalAlpha = 1;
	ctx.lineWidth = 1;
	ctx.fillStyle = theme("ink");
	ctx.strokeStyle = theme("paper");
	const path = new Path2D(GLYPHS[ended]);
	ctx.fill(path);
	ctx.stroke(path);
	ctx.restore();
}

const glyphLegend = a => {
	const seen = new Set(a.lanes.flatMap(lane => lane.cells.map(c => c[6])));
	return Object.keys(GLYPHS).filter(ended => seen.has(ended)).map(ended => h("span.glyph", null, s("svg", {viewBox: "-7 -5 8 10", width: 10, height: 12, "aria-hidden": "true"}, s("path", {d: GLYPHS[ended]})), ended));
};

function laneScale(a) {
	if (!a.metric) return h("span.muted", null, "colored by group; paler where it ran only in part");
	const [lo, hi] = valueRange(a), colors = isDark() ? [...RAMP].reverse() : RAMP;
	return h("span.scale", null, `${show(a.metric, 60)}: ${measure(lo, a.unit)}`, h("span.ramp", {style: {background: `linear-gradient(90deg, ${colors.join(", ")})`}, "aria-hidden": "true"}), measure(hi, a.unit), " (grey: not known)");
}

function laneMore(a) {
	if (!a.omitted) return null;
	return h("span", null, h("span.muted", null, `${plural(a.omitted, "lane", "lanes")} more, which ran ${duration(a.omitted_busy)} `), lanesShown.n >= MOST_LANES ? null : h("button", {type: "button", onclick: () => { lanesShown.n = Math.min(MOST_LANES, lanesShown.n * 3); drawCounters("view"); }}, "show more"));
}
