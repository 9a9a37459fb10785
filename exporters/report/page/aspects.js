// The aspects of the contention tree: chips that are moved with the arrow keys. A click adds an unused aspect.

const DEFAULT_ASPECTS = ["kind", "lock", "waiter-func", "owner-func"];

const aspectOrder = () => (state.view.by || DEFAULT_ASPECTS).filter((a, i, all) => ASPECTS.includes(a) && all.indexOf(a) === i);

const setAspects = list => {
	look({by: list});
	say(list.length ? "tree by " + list.join(", then ") : "no aspects: only the total");
};

function makeAspects() {
	const used = h("ol.chips.aspects#aspects-used", {"aria-label": "aspects of the tree, in their order; arrow keys move one, Delete removes it"});
	const rest = h("ul.chips.aspects#aspects-rest", {"aria-label": "aspects that are not used"});
	return h("div.aspect-box", null, h("span.bar-title", null, "by"), used, h("span.bar-title", null, "add"), rest);
}

function drawAspects(focus) {
	const order = aspectOrder();
	fill(byID("aspects-used"), order.map((a, i) => h("li", null, h("button.chip", {
		type: "button", "data-aspect": a, "aria-label": `${a}, level ${i + 1} of ${order.length}; arrow keys move it, Delete removes it`,
		onkeydown: ev => aspectKey(ev, a),
	}, a.replace("-", " "), h("span.x", {"aria-hidden": "true", onclick: () => setAspects(order.filter(o => o !== a))}, "×")))));
	fill(byID("aspects-rest"), ASPECTS.filter(a => !order.includes(a)).filter(a => !a.endsWith("goroutine") || D.contention.hasGoroutines).filter(a => !ofRoot(a) || D.contention.hasRoots).map(a => h("li", null,
		h("button.chip.plus", {type: "button", "data-aspect": a, onclick: () => { setAspects([...order, a]); focusAspect(a); }}, "+ " + a.replace("-", " ")))));
	if (focus) focusAspect(focus);
}

const focusAspect = a => {
	const b = byID("aspects-used").querySelector(`[data-aspect="${a}"]`);
	if (b) b.focus();
};

function aspectKey(ev, a) {
	const order = aspectOrder(), i = order.indexOf(a);
	const to = {ArrowLeft: i - 1, ArrowUp: i - 1, ArrowRight: i + 1, ArrowDown: i + 1, Home: 0, End: order.length - 1}[ev.key];
	if (ev.key === "Delete" || ev.key === "Backspace") {
		setAspects(order.filter(o => o !== a));
		const next = order[i + 1] || order[i - 1];
		if (next) focusAspect(next);
	} else if (to !== undefined) {
		setAspects(moved(order, i, to));
		focusAspect(a);
	} else {
		return;
	}
	ev.preventDefault();
}

// moved returns the list with element i moved to index at.
function moved(list, i, at) {
	const out = list.filter((_, j) => j !== i);
	out.splice(Math.min(out.length, Math.max(0, at)), 0, list[i]);
	return out;
}
