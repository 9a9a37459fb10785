// The aspects of the contention tree: a menu for each level, and one that adds a level.

const DEFAULT_ASPECTS = ["kind", "lock", "waiter-func", "owner-func"];

const aspectOrder = () => (state.view.by || DEFAULT_ASPECTS).filter((a, i, all) => ASPECTS.includes(a) && all.indexOf(a) === i);

// setAspect sets or, if it is "", removes the aspect of a level. An aspect of another level changes places.
function setAspect(i, aspect) {
	const order = aspectOrder(), at = order.indexOf(aspect);
	if (at >= 0) order[at] = order[i];
	order[i] = aspect;
	look({by: order.filter(Boolean)});
	say(aspectOrder().length ? "tree by " + aspectOrder().join(", then ") : "no aspects: only the total");
	byID("aspect-" + i).focus();
}

const known = a => (!a.endsWith("goroutine") || D.contention.hasGoroutines) && (!ofRoot(a) || D.contention.hasRoots);

function drawAspects() {
	const order = aspectOrder(), menu = (a, i) => h("select#aspect-" + i, {"aria-label": a ? `level ${i + 1} of the tree` : "another level of the tree", onchange: ev => setAspect(i, ev.target.value)},
		h("option", {value: ""}, a ? "none" : "add"), ASPECTS.filter(o => o === a || known(o) && (a || !order.includes(o))).map(o => h("option", {value: o, selected: o === a}, o.replace("-", " "))));
	fill(byID("aspects"), h("span.bar-title", null, "by"), [...order, ""].map(menu));
}
