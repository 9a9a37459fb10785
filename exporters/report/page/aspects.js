// The aspects of the contention tree: chips that are moved by dragging or with the arrow keys. A click adds an unused
// aspect.

const DEFAULT_ASPECTS = ["kind", "lock", "waiter-func", "owner-func"];

const aspectOrder = () => (state.view.by || DEFAULT_ASPECTS).filter((a, i, all) => ASPECTS.includes(a) && all.indexOf(a) === i);

const setAspects = list => {
	look({by: list});
	say(list.length ? "tree by " + list.join(", then ") : "no aspects: only the total");
};

let dragged = null; // {aspect, x, moved, target}

function makeAspects() {
	const used = h("ol.chips.aspects#aspects-used", {"aria-label": "aspects of the tree, in their order; arrow keys move one, Delete removes it"});
	const rest = h("ul.chips.aspects#aspects-rest", {"aria-label": "aspects that are not used"});
	used.addEventListener("pointermove", dragOver);
	used.addEventListener("pointerup", dropAspect);
	used.addEventListener("pointercancel", () => { dragged = null; drawAspects(); });
	return h("div.aspect-box", null, h("span.bar-title", null, "by"), used, h("span.bar-title", null, "add"), rest);
}

function drawAspects(focus) {
	const order = aspectOrder();
	fill(byID("aspects-used"), order.map((a, i) => h("li", null, h("button.chip.grab", {
		type: "button", "data-aspect": a, "aria-label": `${a}, level ${i + 1} of ${order.length}; arrow keys move it, Delete removes it`,
		onkeydown: ev => aspectKey(ev, a), onpointerdown: ev => grab(ev, a),
	}, h("span.grip", {"aria-hidden": "true"}, "⠿"), a.replace("-", " "),
		h("span.x", {"aria-hidden": "true", onpointerdown: ev => ev.stopPropagation(), onclick: () => setAspects(order.filter(o => o !== a))}, "×")))));
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

function grab(ev, a) {
	if (ev.button !== 0) return;
	const chip = ev.currentTarget;
	dragged = {aspect: a, chip, x: ev.clientX, y: ev.clientY, moved: false};
	byID("aspects-used").setPointerCapture(ev.pointerId);
}

function dragOver(ev) {
	if (!dragged) return;
	const dx = ev.clientX - dragged.x, dy = ev.clientY - dragged.y;
	if (Math.abs(dx) + Math.abs(dy) > 4) dragged.moved = true;
	if (!dragged.moved) return;
	dragged.chip.classList.add("dragged");
	dragged.chip.style.setProperty("transform", `translate(${dx}px, ${dy}px)`);
	dragged.at = placeAt(ev.clientX, ev.clientY);
	[...byID("aspects-used").children].forEach((li, i) => li.classList.toggle("before", i === dragged.at.index && !dragged.at.same));
}

// placeAt returns the index for a point: before the first chip whose middle is to its right.
function placeAt(x, y) {
	const order = aspectOrder(), from = order.indexOf(dragged.aspect);
	const items = [...byID("aspects-used").children];
	let index = items.findIndex(li => {
		const r = li.getBoundingClientRect();
		return y < r.top || y <= r.bottom && x < r.left + r.width / 2;
	});
	if (index < 0) index = items.length;
	return {index, to: index > from ? index - 1 : index, from, same: index === from || index === from + 1};
}

function dropAspect() {
	if (!dragged) return;
	const {aspect, at, moved: wasMoved, chip} = dragged;
	dragged = null;
	chip.classList.remove("dragged");
	if (!wasMoved) return chip.focus();
	if (at && !at.same) setAspects(moved(aspectOrder(), at.from, at.to));
	else drawAspects();
	focusAspect(aspect);
}
