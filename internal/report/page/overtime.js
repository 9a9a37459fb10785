// Values over time, and the scatter plot of two metrics. Each selected quantum is a point in the color of its group.

// drawPoints draws the metric y against the time at which quanta begin or, with the unit of the metric x, against that metric.
function drawPoints(host, found, yUnit, xUnit) {
	const scatter = xUnit !== undefined, lx = scatter && isLog("x"), ly = isLog("y"), points = onAxes(found.points, lx, ly), {density} = found, whole = state.sel.time || [0, Math.max(1, D.counters.wall)];
	const axis = (text, unitName, key, log) => ({label: show(text, 60), unit: unitName, range: padded(points ? rangeOf(points[key]) : logRange(density[key + "_range"], log)), log});
	const between = (xr, yr, wide, high) => {
		const add = [];
		if (wide) add.push(inRange(state.view.x, lx ? xr.map(v => 10 ** v) : xr, xUnit));
		if (high) add.push(inRange(state.view.y, ly ? yr.map(v => 10 ** v) : yr, yUnit));
		select({where: [...state.sel.where, add.join(" && ")]});
	};
	makePlot(host, {
		label: `${state.view.y} ${scatter ? "against " + state.view.x : "over time"}, ${plotWords(found)}`, both: scatter,
		x: scatter ? axis(state.view.x, xUnit, "x", lx) : {label: "time", unit: "ns", range: state.sel.time ? padded(whole, .02) : whole}, y: axis(state.view.y, yUnit, "y", ly),
		paint: (u, ctx) => {
			if (!scatter) paintSpans(u, ctx);
			if (points) paintPoints(u, ctx, points.x, points.y, points.group);
			else paintDensity(u, ctx, density, lx, ly);
		},
		onselect: !scatter ? ([a, b]) => selectTime(a, b) : D.served ? between : null, ...pointEvents(points, yUnit),
	});
}

const plotWords = f => f.points ? plural(f.points.x.length, "quantum", "quanta") : `density of ${plural(f.density.known, "quantum", "quanta")}`;

// onAxes drops the values of 0 and less on logarithmic axes.
function onAxes(points, lx, ly) {
	if (!points || !lx && !ly) return points;
	const log = (v, on) => on ? Float64Array.from(v, x => x > 0 ? Math.log10(x) : NaN) : v;
	return {...points, x: log(points.x, lx), y: log(points.y, ly), value: points.y};
}

const logRange = (range, log) => !range ? [0, 1] : log ? range.map(Math.log10) : range;

// inRange returns the condition that a metric lies in a range.
function inRange(text, [lo, hi], unitName) {
	const suffix = unitName === "ns" ? "ns" : unitName === "bytes" ? "B" : "";
	const digits = Math.min(17, Math.max(6, 5 + Math.ceil(Math.log10(Math.max(Math.abs(lo), Math.abs(hi)) / (hi - lo))))); // so many that the edges are where they were drawn
	const num = v => { const r = Number(v.toPrecision(digits)); return (r < 0 ? "-" : "") + Math.abs(r) + suffix; };
	return `${wrapped(text)} >= ${num(lo)} && ${wrapped(text)} <= ${num(hi)}`;
}

const wrapped = text => /^[\w]+$/.test(text) ? text : `(${text})`;

function pointEvents(points, unitName) {
	if (!points) return {};
	return {
		tip: (px, py, u) => {
			const i = nearestPoint(u, px, py, points.x, points.y);
			return i < 0 ? null : [h("b", null, swatch(D.groups[points.group[i]].color), groupTitle(points.group[i])), h("br"), `goroutine ${points.goroutine[i]}, at ${duration(points.begin[i])}`, h("br"), `${show(state.view.y, 40)}: ${measure((points.value || points.y)[i], unitName)}`];
		},
		onpoint: (px, py, u, more) => {
			const i = nearestPoint(u, px, py, points.x, points.y);
			if (i >= 0) toggle("groups", points.group[i], more);
		},
	};
}

// paintSpans shades collections and draws the markers of the program.
function paintSpans(u, ctx) {
	const {top, height} = u.bbox, spans = D.counters.spans;
	ctx.fillStyle = isDark() ? "rgba(204,121,167,.20)" : "rgba(204,121,167,.16)";
	if (spans.length <= 5000) for (const p of spans) {
		if (!p.name.startsWith("GC")) continue;
		const x0 = u.valToPos(p.begin, "x", true), x1 = u.valToPos(p.end, "x", true);
		ctx.fillRect(x0, top, Math.max(1, x1 - x0), height);
	}
	paintMarkers(u, ctx);
}

// paintMarkers draws a line for each marker and, where there is room, its text beside the line, in one of three rows.
function paintMarkers(u, ctx) {
	const {top, left, width, height} = u.bbox, dpr = devicePixelRatio, markers = D.counters.markers.slice(0, 400), ends = [left, left, left];
	ctx.fillStyle = theme("muted");
	ctx.font = `${11 * dpr * zoom()}px system-ui, sans-serif`;
	ctx.textAlign = "left";
	ctx.textBaseline = "alphabetic";
	for (const m of markers) {
		const x = u.valToPos(m.time, "x", true);
		if (x < left || x > left + width) continue;
		ctx.fillRect(x, top, dpr, height);
		if (markers.length > 30) continue;
		const text = show(m.text, 24), w = ctx.measureText(text).width;
		for (const at of [x + 4 * dpr, x - 4 * dpr - w]) {
			const row = ends.findIndex(end => end <= at);
			if (row < 0 || at + w > left + width) continue;
			ctx.fillText(text, at, top + (12 + 12 * row) * dpr * zoom());
			ends[row] = at + w + 6 * dpr;
			break;
		}
	}
}
