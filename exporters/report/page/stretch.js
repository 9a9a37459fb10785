// A selection of time, where only windows are known: it is widened to the windows that it touches, and the page says so. What is shown is
// then the sum of these windows.

// covered gives the windows [lo, hi) that a stretch of time touches, and from when to when they are; null without windows or time.
// edges has the beginnings and the ends of all windows, in order.
function covered(edges, time) {
	if (!edges || !time || !edges.from.length) return null;
	let lo = edges.to.findIndex(t => t > time[0]), hi = edges.from.findIndex(t => t >= time[1]);
	if (lo < 0) lo = edges.from.length;
	if (hi < 0) hi = edges.from.length;
	hi = Math.max(lo, hi);
	return {lo, hi, from: hi > lo ? edges.from[lo] : time[0], to: hi > lo ? edges.to[hi - 1] : time[1]};
}

// stretchNote says how a section follows a selection of time: by the windows of cover or, without these, not at all, because of why.
function stretchNote(cover, why) {
	if (!state.sel.time) return null;
	if (!cover) return h("span.muted", null, ` Of the whole recording: ${why}.`);
	if (cover.lo === cover.hi) return h("span.muted", null, " There is nothing recorded in the selected time.");
	const wide = cover.from < state.sel.time[0] || cover.to > state.sel.time[1];
	return h("span.muted", null, ` In ${span(cover.from, cover.to)}${wide ? ", widened to whole windows" : ""}.`);
}

// span writes a stretch of time with as many digits as its ends need to differ.
function span(from, to) {
	const {unit, size} = timeScale(Math.max(to, 1)), digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.max(1e-9, (to - from) / size)))));
	const write = v => (v / size).toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
	return `${write(from)} – ${write(to)} ${unit}`;
}
