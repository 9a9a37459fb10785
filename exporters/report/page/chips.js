// The bar at the top: the selection as chips that can be removed, and the named selections.

const PLACES = {groups: "group", goroutines: "goroutine", locks: "lock", tasks: "task", procs: "processor", threads: "thread", ended: "ended", where: "where"};

// chipList returns the selection as {label, value, remove}.
function chipList(sel) {
	const out = [];
	for (const [list, label] of Object.entries(PLACES)) {
		for (const v of sel[list]) {
			const text = list === "groups" ? groupTitle(v) : show(v, 60);
			out.push({label, text, color: list === "groups" ? D.groups[v].color : null, remove: () => select({[list]: state.sel[list].filter(o => o !== v)})});
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
	const bar = byID("bar");
	const held = document.activeElement && bar.contains(document.activeElement);
	const chips = chipList(state.sel);
	fill(bar,
		h("span.bar-title#bar-title", null, "selection"),
		chips.length ? h("ul.chips", {"aria-labelledby": "bar-title"}, chips.map(chip)) : h("span.muted", null, "everything – click a box, a row or a point, or drag over a chart"),
		chips.length ? h("button#clear", {type: "button", onclick: () => { look({window: -1}); replaceSelection({}); }}, "clear") : null,
		h("span#figures.muted", null),
		h("span.gap"),
		drawNamed(),
		exportMenu());
	if (held) (bar.querySelector(".chip") || bar.querySelector("input")).focus();
}

// drawNamed draws the named selections: a field for a new name, and a button for each.
function drawNamed() {
	const field = h("input#set-name", {type: "text", size: 12, maxlength: 80, placeholder: "name", "aria-label": "name of the selection to keep", autocomplete: "off", spellcheck: "false"});
	const keep = event => {
		event.preventDefault();
		const text = clean(field.value).trim();
		if (!text) return field.focus();
		state.named.set(text, state.sel);
		changed("named");
		say(`kept as ${text}`);
	};
	const buttons = [...state.named].map(([key, sel]) => h("li.named", null,
		h("button.chip", {type: "button", title: describe(sel), "aria-pressed": String(sameSelection(sel, state.sel)), onclick: () => replaceSelection(sel)}, h("bdi", null, show(key, 40))),
		h("button.drop", {type: "button", "aria-label": "forget " + show(key, 40), onclick: () => { state.named.delete(key); changed("named"); }}, "×")));
	return h("form#keep", {onsubmit: keep}, buttons.length ? h("ul.chips", {"aria-label": "named selections"}, buttons) : null,
		field, h("button", {type: "submit"}, "keep"));
}
