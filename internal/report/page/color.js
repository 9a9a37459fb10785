// Colors: those of Okabe and Ito, then lighter and darker shades. A group has the same color in all sections.
// Warm colors mark the neck, pink the collector, grey the rest of the runtime.

const COOL = ["#0072b2", "#56b4e9", "#009e73", "#8cd17d", "#2f5597", "#9fd8f4", "#00695c", "#bfe3b4", "#3f8fc4", "#5fc8a8", "#7a8fd6", "#b3c7ee"];
const WARM = ["#d55e00", "#e69f00", "#f0e442", "#a84a00", "#f7c46c", "#f08c5a", "#c9b400", "#e8b98a", "#8a5a00", "#f2b8a0", "#b8860b", "#e8d27a"];
const BY_KIND = {gc: ["#cc79a7", "#e6b4d0", "#a85a8a", "#d99fc4", "#8a4a78"], runtime: ["#8c96a3", "#6a7480", "#adb6c0"], tracer: ["#c3c9d0", "#d8dde2"]};
const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3fa0d8", "#8a4a78", "#7a8fd6", "#a84a00", "#5fa052", "#6a7480", "#c94f6d"];

// colorGroups assigns a color to each group: first the neck, then the others in the order of the stack.
function colorGroups(groups, graph) {
	const neck = new Set(graph ? [...neckOf(graph)].map(b => b.g) : []), next = new Map();
	const pick = list => {
		const n = next.get(list) || 0;
		next.set(list, n + 1);
		return list[n % list.length];
	};
	const boxes = graph ? graph.boxes.filter(b => b.share_ns > 0) : [];
	const give = i => {
		const g = groups[i];
		if (g.color) return;
		g.color = pick(BY_KIND[g.kind] || (neck.has(i) ? WARM : COOL));
		g.ink = inkOn(g.color);
	};
	for (const b of [...boxes].sort((a, b) => b.share_ns - a.share_ns)) if (neck.has(b.g) || BY_KIND[groups[b.g].kind]) give(b.g);
	for (const b of boxes) give(b.g);
	groups.forEach((_, i) => give(i));
}

const lostOf = g => g.capacity_ns ? g.capacity_ns - g.boxes.reduce((t, b) => t + b.running_ns, 0) : 0;

// neckOf returns the boxes that lost at least 5% of the capacity while they ran, like bottle.Graph.Neck. Those of the collector
// count together.
const necks = new WeakMap();

function neckOf(g) {
	if (necks.has(g)) return necks.get(g);
	const isGC = b => D.groups[b.g].kind === "gc", collector = g.boxes.filter(isGC).reduce((t, b) => t + b.lost_ns, 0), least = Math.max(1, Math.floor(g.capacity_ns / 20));
	const neck = new Set(g.boxes.filter(b => (isGC(b) ? collector : b.lost_ns) >= least));
	necks.set(g, neck);
	return neck;
}

const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

function luminance(hex) {
	const [r, g, b] = channels(hex).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// inkOn returns black or white, whichever contrasts more with a color.
function inkOn(hex) {
	const l = luminance(hex);
	return 1.05 / (l + 0.05) >= (l + 0.05) / (luminance("#10141a") + 0.05) ? "#ffffff" : "#10141a";
}

// RAMP has values of a metric from low to high, in even steps of lightness, for any color vision (after cividis). Dark mode reverses
// it, so that high values stand out.
const RAMP = ["#f5e9a9", "#d9c979", "#b5ab79", "#8f9077", "#6f7677", "#4d5e79", "#2b4779", "#00306f"];

function ramp(f, dark) {
	f = Math.min(1, Math.max(0, f));
	if (dark) f = 1 - f;
	const x = f * (RAMP.length - 1), i = Math.min(RAMP.length - 2, Math.floor(x)), t = x - i;
	const a = channels(RAMP[i]), b = channels(RAMP[i + 1]);
	return a.map((v, j) => Math.round(v + t * (b[j] - v)));
}

const rgb = ([r, g, b], a = 1) => `rgba(${r},${g},${b},${a})`;

// isDark reports whether the reader prefers dark mode.
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => darkQuery.matches;

// theme returns a color of the style sheet in the current mode.
const theme = role => getComputedStyle(document.documentElement).getPropertyValue("--" + role).trim();
