// Plots of points: uPlot draws the axes and follows the mouse; the points or the bins of their density are painted here.
// A drag selects, a click finds the nearest point.

const MOST_POINTS = 50000; // drawn singly; more are shown as density
const font = () => `${Math.round(12 * zoom())}px system-ui, -apple-system, "Segoe UI", sans-serif`;

// axisFor returns an axis for a unit: times in ns, s and so on, or plain numbers.
function axisFor({label, unit: unitName, range, log}, size, side) {
	const ns = unitName === "ns" && !log, scale = ns ? timeScale(Math.max(Math.abs(range[0]), Math.abs(range[1]))) : {unit: log ? "" : unitName, size: 1};
	const grid = {stroke: theme("grid"), width: 1};
	return {
		side, stroke: theme("muted"), grid, ticks: {stroke: theme("grid"), width: 1, size: 5}, font: font(), labelFont: font(), labelSize: 22 * zoom(), gap: 4, size: size * zoom(),
		label: scale.unit ? `${label} (${scale.unit})` : label, space: (side === 2 ? 70 : 44) * zoom(),
		splits: (u, i, lo, hi) => {
			if (log) return Array.from({length: Math.max(0, Math.floor(hi) - Math.ceil(lo) + 1)}, (_, k) => Math.ceil(lo) + k);
			return stepsIn(lo, hi, niceStep((hi - lo) / scale.size, (side === 2 ? u.bbox.width / 70 : u.bbox.height / 44) / devicePixelRatio / zoom()) * scale.size);
		},
		values: (u, splits) => splits.map(v => log ? (unitName === "ns" ? duration(10 ** v) : quantity(10 ** v)) : tick(v / scale.size)),
	};
}

// padded widens a range, so that points do not lie on its edge.
function padded([lo, hi], part = .03) {
	if (!(hi > lo)) return lo ? [lo - Math.abs(lo) * .1, hi + Math.abs(hi) * .1] : [-1, 1];
	const more = (hi - lo) * part;
	return [lo >= 0 && lo - more < 0 ? Math.min(lo, 0) : lo - more, hi + more];
}

// makePlot draws a plot in host: p = {label, x: {label, unit, range}, y: {…}, both, paint(u, ctx), onselect(x, y), onpoint(x, y, u, more), tip(x, y, u)}.
function makePlot(host, p) {
	if (host.plot) host.plot.destroy();
	const width = Math.max(240, host.clientWidth), height = Math.round(Math.min(420 * zoom(), Math.max(240, width * .5)));
	const options = {
		width, height, legend: {show: false}, padding: [10, 14, 0, 0],
		cursor: {drag: {x: !!p.onselect, y: !!(p.onselect && p.both), setScale: false, uni: p.both ? 20 : null, dist: 5}, points: {show: false}, focus: {prox: -1}},
		scales: {x: {time: false, range: () => p.x.range}, y: {range: () => p.y.range}},
		axes: [axisFor(p.x, 34, 2), axisFor(p.y, 58, 3)],
		series: [{}, {paths: () => null, points: {show: false}, stroke: "transparent"}],
		hooks: {
			draw: [u => {
				u.ctx.save();
				u.ctx.beginPath();
				u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
				u.ctx.clip();
				p.paint(u, u.ctx);
				u.ctx.restore();
			}],
			setSelect: [u => {
				const {left, top, width: w, height: h} = u.select;
				if (w < 3 && h < 3) return;
				const x = [u.posToVal(left, "x"), u.posToVal(left + w, "x")], y = [u.posToVal(top + h, "y"), u.posToVal(top, "y")];
				u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
				p.onselect(x, y, w >= 3, h >= 3);
			}],
		},
	};
	host.replaceChildren();
	const u = host.plot = new uPlot(options, [p.x.range, p.y.range], host);
	const canvas = u.root.querySelector("canvas");
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", p.label);
	hover(host, u, p);
	return u;
}

// hover shows the point under the mouse, and selects it on a click.
function hover(host, u, p) {
	const tip = h("div.tip", {hidden: true, "aria-hidden": "true"});
	host.append(tip);
	u.over.addEventListener("mousemove", () => {
		const text = p.tip && u.cursor.left >= 0 ? p.tip(u.cursor.left, u.cursor.top, u) : null;
		tip.hidden = !text;
		if (!text) return;
		fill(tip, text);
		const left = u.over.offsetLeft + u.cursor.left;
		tip.style.setProperty("left", Math.max(0, Math.min(left + 12, host.clientWidth - tip.offsetWidth - 4)) + "px");
		tip.style.setProperty("top", Math.max(0, u.over.offsetTop + u.cursor.top - tip.offsetHeight - 10) + "px");
	});
	u.over.addEventListener("mouseleave", () => { tip.hidden = true; });
	let down = null;
	u.over.addEventListener("mousedown", ev => { down = [ev.clientX, ev.clientY]; });
	u.over.addEventListener("click", ev => {
		if (!p.onpoint || !down || Math.hypot(ev.clientX - down[0], ev.clientY - down[1]) > 4) return;
		const r = u.over.getBoundingClientRect();
		p.onpoint(ev.clientX - r.x, ev.clientY - r.y, u, ev.shiftKey || ev.ctrlKey || ev.metaKey);
	});
}

// paintPoints draws each point in the color of its group.
function paintPoints(u, ctx, xs, ys, groups) {
	const dpr = devicePixelRatio, size = Math.max(1, (xs.length > 20000 ? 1 : xs.length > 3000 ? 1.5 : xs.length > 500 ? 2 : 3.5)) * dpr;
	const [x0, x1] = u.scales.x.range(), [y0, y1] = u.scales.y.range(), {left, top, width, height} = u.bbox;
	const kx = width / (x1 - x0), ky = height / (y1 - y0), byGroup = new Map();
	for (let i = 0; i < xs.length; i++) {
		const list = byGroup.get(groups[i]);
		if (list) list.push(i);
		else byGroup.set(groups[i], [i]);
	}
	ctx.globalAlpha = xs.length > 5000 ? .6 : .85;
	for (const [g, list] of byGroup) {
		ctx.fillStyle = D.groups[g] ? D.groups[g].color : "#888888";
		for (const i of list) ctx.fillRect(left + (xs[i] - x0) * kx - size / 2, top + height - (ys[i] - y0) * ky - size / 2, size, size);
	}
	ctx.globalAlpha = 1;
}

// paintDensity draws bins, darker for higher counts, on a logarithmic scale.
function paintDensity(u, ctx, d, lx, ly) {
	if (!d.x_range || !d.y_range || !d.most) return;
	const image = new ImageData(d.width, d.height), dark = isDark(), top = Math.log1p(d.most);
	for (let y = 0; y < d.height; y++) {
		for (let x = 0; x < d.width; x++) {
			const n = d.counts[y * d.width + x];
			if (n) image.data.set([...ramp(.12 + .88 * Math.log1p(n) / top, dark), 255], 4 * ((d.height - 1 - y) * d.width + x));
		}
	}
	const off = h("canvas", {width: d.width, height: d.height});
	off.getContext("2d").putImageData(image, 0, 0);
	const [xa, xb] = logRange(d.x_range, lx), [ya, yb] = logRange(d.y_range, ly);
	const x0 = u.valToPos(xa, "x", true), x1 = u.valToPos(xb, "x", true), y0 = u.valToPos(ya, "y", true), y1 = u.valToPos(yb, "y", true);
	ctx.imageSmoothingEnabled = false;
	ctx.drawImage(off, x0, y1, Math.max(1, x1 - x0), Math.max(1, y0 - y1));
}

// nearestPoint returns the index of the nearest point, −1 if none is near.
function nearestPoint(u, px, py, xs, ys) {
	const [x0, x1] = u.scales.x.range(), [y0, y1] = u.scales.y.range(), w = u.over.clientWidth, hgt = u.over.clientHeight;
	let best = -1, least = 14 * 14;
	for (let i = 0; i < xs.length; i++) {
		const dx = (xs[i] - x0) / (x1 - x0) * w - px, dy = hgt - (ys[i] - y0) / (y1 - y0) * hgt - py, d = dx * dx + dy * dy;
		if (d < least) { least = d; best = i; }
	}
	return best;
}

// rangeOf returns the minimum and the maximum of the numbers.
function rangeOf(values) {
	let lo = Infinity, hi = -Infinity;
	for (const v of values) if (v === v) { if (v < lo) lo = v; if (v > hi) hi = v; }
	return lo <= hi ? [lo, hi] : [0, 1];
}
