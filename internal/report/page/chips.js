// The bar at the top: the selection as chips that can be removed.

// chipList returns the selection as {label, value, remove}.
function chipList(sel) {
	const out = [];
	for (const [key, list] of Object.entries(LISTS)) {
		for (const v of sel[list]) {
			const text = list === "groups" ? groupTitle(v) : show(v, 60);
			out.push({label: key === "proc" ? "processor" : key, text, color: list === "groups" ? D.groups[v].color : null, remove: () => select({[list]: state.sel[list].filter(o => o !== v)})});
		}
	}
	if (sel.time) out.push({label: "time", text: `${duration(sel.time[0])} – ${duration(sel.time[1])}`, remove: () => { look({window: -1}); select({time: null}); }});
	return out;
}

function chip(c) {
	return h("li", null, h("button.chip", {type: "button", "aria-label": `remove ${c.label} ${c.text} from the selection`, onclick: c.remove},
		c.color ? swatch(c.color) : null, h("span.chip-label", null, c.label), h("bdi", null, c.text), h("span.x", {"aria-hidden": "true"}, "×")));
}

// describe returns the selection as a sentence.
function describe(sel) {
	const chips = chipList(sel);
	return chips.length ? chips.map(c => c.label + " " + c.text).join(", ") : "everything";
}

function drawBar() {
	const bar = byID("bar"), held = document.activeElement && bar.contains(document.activeElement), chips = chipList(state.sel);
	fill(bar,
		h("span.bar-title#bar-title", null, "selection"),
		chips.length ? h("ul.chips", {"aria-labelledby": "bar-title"}, chips.map(chip)) : h("span.muted", null, "everything – click a box, a row or a point, or drag over a chart"),
		chips.length ? h("button#clear", {type: "button", onclick: () => { look({window: -1}); select(emptySelection()); }}, "clear") : null,
		h("span#figures.muted", null));
	if (held && chips.length) bar.querySelector(".chip").focus();
}
