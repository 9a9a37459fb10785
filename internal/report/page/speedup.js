// Speedup stacks, side by side, and what-if: without the components that are switched off, the speed-up is, as in Stack.WhatIf,
// S' = S · N / (N − Σ components), and not known for waits if mostly nothing ran.

const FAMILY_COLORS = {"garbage collection": "#cc79a7", sequential: "#d55e00", synchronization: "#e69f00", "I/O and network": "#8cd17d", "system calls": "#009e73", imbalance: "#f0e442", spawn: "#e8b98a", "no worker": "#f5efa0", scheduling: "#8c96a3", runtime: "#6a7480", remainder: "#56b4e9", running: "#0072b2"};

const speedupSection = {};

function makeSpeedup() {
	const chart = h("div.chart#speedup-chart"), table = h("div");
	Object.assign(speedupSection, {chart, table, lead: h("p.lead#speedup-lead")});
	const usage = D.usage && dataTable({id: "usage-rows", label: "what the processes used", rows: D.usage.slice(1), limit: 24, columns: D.usage[0].map((title, i) => ({title, num: i > 0, cell: row => show(row[i])}))});
	onWidth(chart, drawSpeedup);
	const estimate = D.speedup.some(k => k.estimate);
	return section("speedup", "speed-up", h("p.about", null, "A bar as high as the number of workers: the speed-up at the bottom, above it what keeps it from being that high. The parts sum exactly. Switch a part off to see what the program would gain without it."),
		estimate ? h("p.badge", null, "An estimate from one run: the speed-up is an upper bound if one worker does the same work at the same speed, and what the hardware takes is hidden in it.") : null,
		speedupSection.lead, h("div.columns", null, chart, table), usage, notes(D.speedup.flatMap(k => k.warnings).filter((w, i, all) => all.indexOf(w) === i), "notes on the speed-up"));
}

// partsOf lists the components above the speed-up, and the remainder.
const partsOf = k => [...D.components.map(c => ({...c, value: k.components[c.name] || 0})).filter(p => p.value !== 0), ...(k.remainder ? [{name: "remainder", words: "remainder", family: "remainder", value: k.remainder}] : [])];

// without returns the speed-up without the components that are switched off.
function without(k) {
	const parts = partsOf(k).filter(p => state.view.off.includes(p.name)), off = parts.reduce((t, p) => t + p.value, 0);
	if (k.idle > 0.25 && parts.some(p => ["synchronization", "I/O and network", "sequential"].includes(p.family) && 2 * k.idle * k.n > p.value && !/mutex|semaphore/.test(p.name))) return NaN;
	return off >= k.n ? Infinity : k.speedup * k.n / (k.n - off);
}

const inTimes = (v, bound = "") => isNaN(v) ? "not known" : v === Infinity ? "no bound" : `${bound}${two(v)} times`;

// shownStacks returns the stacks of the selected time, if known. Components are parts of the time, so those of several windows are
// averaged, weighted by their lengths.
const shownStacks = () => D.speedup.map(k => stackIn(k) || k);

function stackIn(k) {
	const cover = covered({from: k.windows.map(w => w.from), to: k.windows.map(w => w.to)}, state.sel.time);
	if (!cover) return null;
	const some = k.windows.slice(cover.lo, cover.hi), wall = some.reduce((t, w) => t + w.to - w.from, 0);
	const mean = f => wall > 0 ? some.reduce((t, w) => t + f(w) * (w.to - w.from), 0) / wall : 0;
	const components = Object.fromEntries(D.components.map(c => [c.name, mean(w => w.stack.components[c.name] || 0)])), speedup = mean(w => w.stack.speedup);
	return {...k, cover, estimate: true, speedup, remainder: mean(w => w.stack.remainder), components, sentence: `In the selected time, a speed-up of at most ${two(speedup)} with ${k.n} workers.`};
}

function drawSpeedup() {
	if (!D.speedup.length || !byID("speedup")) return;
	const all = shownStacks(), last = all[all.length - 1], better = without(last), bound = last.estimate ? "at most " : "";
	fill(speedupSection.lead, show(last.sentence.replace(/[^.]$/, "$&."), 400), last.next && !last.cover ? " " + show(last.next, 900) : null, state.view.off.length ? [" Without ", state.view.off.map(n => partWords(n)).join(", "), ": ", h("b#what-if", null, inTimes(better, bound)), ` instead of ${two(last.speedup)}.`] : null,
		stretchNote(last.cover, "the stack does not say when"));
	fill(speedupSection.chart, speedupSVG(roomIn(speedupSection.chart)));
	fill(speedupSection.table, speedupTable());
}

const partWords = n => (shownStacks().flatMap(partsOf).find(p => p.name === n) || {words: n}).words;

function speedupSVG(width) {
	const left = 44, right = 12, top = 16, foot = 40, height = Math.round(Math.min(460, Math.max(300, width * 0.7)));
	const w = width - left - right, hgt = height - top - foot, all = shownStacks(), most = Math.max(...all.map(k => k.n)) * 1.04;
	const low = Math.min(0, ...all.map(k => partsOf(k).reduce((t, p) => t + Math.min(0, p.value), 0)));
	const py = v => top + hgt - (v - low) / (most - low) * hgt;
	const axes = s("g.axes", {"aria-hidden": "true"}), root = drawing("svg.plot", width, height, {role: "img", "aria-label": "speedup stacks: " + all.map(k => show(k.sentence, 300)).join(" ")}, axes);
	for (let v = 0, step = niceStep(most, hgt / 56); v <= most; v += step) axes.append(s("line", {x1: left, x2: left + w, y1: py(v), y2: py(v)}), s("text", {x: left - 8, y: py(v), "text-anchor": "end", "dominant-baseline": "central"}, tick(v)));
	axes.append(s("text.axis", {x: left + w / 2, y: height - 4, "text-anchor": "middle"}, "workers"));
	const slot = w / all.length, bar = Math.min(140, slot * 0.62);
	all.forEach((k, i) => {
		const x = left + slot * (i + .5) - bar / 2;
		const draw = (y, v, color, words, off, label, bold) => {
			const g = s("g" + (off ? ".off" : ""), null, s("title", null, `${words}: ${two(v)}`), s("rect.border", {x, y: py(Math.max(y, y + v)), width: bar, height: Math.max(.5, Math.abs(py(y + v) - py(y))), fill: color}));
			if (Math.abs(py(y + v) - py(y)) >= 16) g.append(s("text.label" + (bold ? ".b" : ""), {x: x + bar / 2, y: py(y + v / 2), "text-anchor": "middle", "dominant-baseline": "central", style: {fill: inkOn(color)}}, label));
			root.append(g);
		};
		const words = k.estimate ? "speed-up (upper bound)" : "speed-up", long = k.estimate ? `at most ${two(k.speedup)}` : `${two(k.speedup)} speed-up`, short = (k.estimate ? "≤ " : "") + two(k.speedup);
		draw(0, k.speedup, FAMILY_COLORS.running, words, false, [long, short].find(text => fitText(text, bar - 8, true) === text) || "", true);
		let up = k.speedup, down = 0;
		for (const p of partsOf(k)) {
			draw(p.value >= 0 ? up : down, p.value, FAMILY_COLORS[p.family] || "#a9b8bf", p.words, state.view.off.includes(p.name), fitText(`${two(p.value)} ${p.words}`, bar - 8) || fitText(two(p.value), bar - 4));
			if (p.value >= 0) up += p.value;
			else down += p.value;
		}
		const better = without(k);
		if (state.view.off.length && Number.isFinite(better)) root.append(s("path.what-if", {d: `M${x - 8} ${py(better)}H${x + bar + 8}`}), s("text.outside.b", {x: x + bar / 2, y: py(better) - 6, "text-anchor": "middle"}, two(better)));
		root.append(s("text.muted", {x: x + bar / 2, y: top + hgt + 18, "text-anchor": "middle"}, show(k.label || String(k.n), 24)));
	});
	return root;
}

function speedupTable() {
	const all = shownStacks(), last = all[all.length - 1], parts = partsOf(last).sort((a, b) => b.value - a.value);
	const check = p => h("label.switch", null, h("input", {type: "checkbox", "data-part": p.name, checked: state.view.off.includes(p.name), onchange: ev => {
		const off = state.view.off.filter(n => n !== p.name);
		look({off: ev.target.checked ? [...off, p.name] : off});
		const again = document.querySelector(`[data-part="${CSS.escape(p.name)}"]`);
		if (again) again.focus();
		say(`without ${state.view.off.map(partWords).join(", ") || "nothing"}: ${inTimes(without(last))}`);
	}}), swatch(FAMILY_COLORS[p.family] || "#a9b8bf"), p.words);
	const gain = p => { const v = p.value >= last.n ? Infinity : last.speedup * last.n / (last.n - p.value); return v === Infinity ? "no bound" : two(v); };
	return dataTable({
		id: "part-rows", label: "parts of the stack", rows: parts, limit: 24,
		columns: [
			{title: "switch off", text: p => p.words, cell: check}, {title: "family", text: p => p.family, wide: true}, {title: "of the bar", num: true, value: p => p.value, cell: p => two(p.value)},
			{title: last.estimate ? "speed-up without, at most" : "speed-up without", num: true, value: p => p.value, cell: gain},
		],
	});
}
