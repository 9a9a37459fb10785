// The slider over windows: the same graph for each interval. It is dragged, or moved with the arrow keys. The parallelism over
// time is above it. The current window also filters the sections that have times.

function makeWindows() {
	const last = D.bottle.windows.length - 1;
	const slider = h("input#window", {type: "range", min: -1, max: last, step: 1, value: state.view.window, "aria-label": "window of time; the leftmost place is the whole recording",
		oninput: ev => showWindow(Number(ev.target.value))});
	const whole = h("button#whole", {type: "button", onclick: () => showWindow(-1)}, "whole run");
	const strip = h("div.profile", {"aria-hidden": "true"});
	onWidth(strip, () => drawProfile(strip));
	Object.assign(bottleSection, {slider, strip, text: h("output#window-text", {for: "window"})});
	return h("div.windows", {role: "group", "aria-label": "windows of time"}, h("div.track", null, strip, slider), h("div.controls", null, whole, bottleSection.text));
}

// showWindow shows a window, −1 for the whole, and selects its time.
function showWindow(i) {
	i = Math.min(D.bottle.windows.length - 1, Math.max(-1, i));
	if (i === state.view.window) return;
	state.view = {...state.view, window: i};
	const w = D.bottle.windows[i];
	select({time: w ? [w.start_ns, w.start_ns + w.wall_ns] : null});
	say(bottleSection.text.textContent);
}

// windowsText names the windows [lo, hi) of n and their times.
function windowsText({lo, hi, from, to}, n) {
	if (lo >= hi) return `none of ${plural(n, "window", "windows")}`;
	return `${hi > lo + 1 ? `windows ${lo + 1} to ${hi}` : `window ${hi}`} of ${n}: ${duration(from)} – ${duration(to)}`;
}

function drawWindows() {
	const {slider, text, strip} = bottleSection;
	if (!slider) return;
	const i = state.view.window, w = D.bottle.windows[i], n = D.bottle.windows.length;
	slider.value = i;
	const cover = coveredWindows();
	text.textContent = cover ? windowsText(cover, n) : w ? windowsText({lo: i, hi: i + 1, from: w.start_ns, to: w.start_ns + w.wall_ns}, n) : `the whole recording (${plural(n, "window", "windows")})`;
	slider.setAttribute("aria-valuetext", text.textContent);
	for (const e of strip.querySelectorAll("rect.w")) e.classList.toggle("on", cover ? e.dataset.i >= cover.lo && e.dataset.i < cover.hi : Number(e.dataset.i) === i);
}

// drawProfile draws the mean parallelism of each window as a small bar.
function drawProfile(strip) {
	const width = roomIn(strip), height = 34, ws = D.bottle.windows;
	const begin = D.bottle.start_ns, total = Math.max(1, D.bottle.wall_ns), procs = Math.max(1, D.bottle.gomaxprocs);
	const root = drawing("svg", width, height, {});
	ws.forEach((w, i) => {
		const mean = w.wall_ns > 0 ? w.boxes.reduce((t, b) => t + b.running_ns, 0) / w.wall_ns : 0, f = Math.min(1, mean / procs);
		const x = (w.start_ns - begin) / total * width, bw = Math.max(1, w.wall_ns / total * width - (ws.length < width / 3 ? 1 : 0));
		root.append(s("rect.w" + (lostOf(w) > w.capacity_ns / 2 ? ".neck" : ""), {x, width: bw, y: height - f * (height - 2), height: Math.max(1, f * (height - 2)), "data-i": i}),
			s("rect.hit", {x, width: bw + 1, y: 0, height, onclick: () => showWindow(i)}, s("title", null, `${duration(w.start_ns)}: ${two(mean)} goroutines ran`)));
	});
	fill(strip, root);
	drawWindows();
}

// A selection of time is widened to the windows that it touches where only windows are known, and the page says so. It then shows
// the sum of these windows.

// covered returns the windows [lo, hi) that an interval touches, and their times; null without windows or time. edges has the
// beginnings and the ends of all windows, in order.
function covered(edges, time) {
	if (!edges || !time || !edges.from.length) return null;
	let lo = edges.to.findIndex(t => t > time[0]), hi = edges.from.findIndex(t => t >= time[1]);
	if (lo < 0) lo = edges.from.length;
	if (hi < 0) hi = edges.from.length;
	hi = Math.max(lo, hi);
	return {lo, hi, from: hi > lo ? edges.from[lo] : time[0], to: hi > lo ? edges.to[hi - 1] : time[1]};
}

// stretchNote returns how a section follows a selection of time: by the windows of cover or, without these, not at all, with the reason.
function stretchNote(cover, why) {
	if (!state.sel.time) return null;
	if (!cover) return h("span.muted", null, ` Of the whole recording: ${why}.`);
	if (cover.lo === cover.hi) return h("span.muted", null, " There is nothing recorded in the selected time.");
	const wide = cover.from < state.sel.time[0] || cover.to > state.sel.time[1];
	return h("span.muted", null, ` In ${span(cover.from, cover.to)}${wide ? ", widened to whole windows" : ""}.`);
}

// span formats an interval with as many digits as its ends need to differ.
function span(from, to) {
	const {unit, size} = timeScale(Math.max(to, 1)), digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.max(1e-9, (to - from) / size)))));
	const write = v => (v / size).toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
	return `${write(from)} – ${write(to)} ${unit}`;
}
