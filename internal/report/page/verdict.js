// The verdict, in the words of package diagnose, above all sections. It covers the whole recording, whatever is selected.

const PARTS = ["your code", "C code", "system calls", "collector", "tracer and runtime", "scheduler", "waking up", "idle", "idle, waiting for outside"];

const partClass = p => ".part" + Math.max(0, PARTS.indexOf(p.name));

function makeVerdict(v) {
	let at = 0;
	const bar = s("svg.capacity", {viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": v.parts.map(p => `${p.name} ${p.text}`).join(", ")});
	for (const p of v.parts) {
		bar.append(s("rect" + partClass(p), {x: 1000 * at, y: 0, width: 1000 * p.share, height: 10}));
		at += p.share;
	}
	const said = f => h("li", null, h("b", null, show(f.title, 600)),
		f.where.length ? h("div.code", null, f.where.map(w => show(w, 160)).join(", ")) : null,
		f.advice ? h("div", null, show(f.advice, 600)) : null,
		f.gain ? h("div.muted", null, "Gain: " + show(f.gain, 300) + ".") : null);
	return h("section#verdict", {"aria-labelledby": "verdict-title"}, h("h2#verdict-title", null, "what limits it"), h("p.about", null, v.head + ":"), bar,
		h("p.legend", null, v.parts.filter(p => p.share >= 0.005).map(p => h("span", null, h("span.swatch" + partClass(p), {"aria-hidden": "true"}), `${p.name} ${p.text}`))),
		h("ol.findings", null, v.findings.map(said)), notes(v.warnings, "notes on the verdict"));
}
