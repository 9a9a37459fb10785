// Tables: sorted by a click on a heading, with the first rows and more on demand. A click, Enter or space selects a row.
// Column: {title, num, value|text, cell, strong, wide, plain, help}. A table with resort has its rows sorted by others, by the key of
// a column; sorted is the current one.

const tableStates = new Map(); // by id: {sort, down, shown}

function dataTable(t) {
	const st = tableStates.get(t.id) || {sort: -1, down: true, shown: t.limit || 20};
	tableStates.set(t.id, st);
	const wrap = h("div.scroll", {tabindex: "0", role: "region", "aria-label": t.label});
	const draw = () => fill(wrap, h("table#" + t.id, null, h("caption.unseen", null, t.label), h("thead", null, h("tr", null, t.columns.map((c, i) => heading(t, st, c, i, draw)))),
		tableBody(t, st)), moreButtons(t, st, draw));
	draw();
	return wrap;
}

function heading(t, st, c, i, draw) {
	const attributes = {scope: "col", class: columnClass(c), title: c.help};
	if (!(t.resort ? c.key : c.value || c.text) || c.plain) return h("th", attributes, c.title);
	const on = t.resort ? c.key === t.sorted : st.sort === i;
	attributes["aria-sort"] = on ? (st.down ? "descending" : "ascending") : "none";
	return h("th", attributes, h("button.sort", {type: "button", onclick: ev => {
		Object.assign(st, on ? {down: !st.down} : {sort: i, down: !!c.num});
		if (t.resort) t.resort(c.key, st.down);
		else draw();
		byID(t.id).querySelectorAll("th")[i].querySelector("button").focus();
	}}, c.title, h("span", {"aria-hidden": "true"}, on ? (st.down ? " ▾" : " ▴") : "")));
}

const columnClass = c => [c.num ? "num" : "", c.wide ? "wide" : "", c.roomy ? "roomy" : ""].join(" ").trim() || null;

function sortedRows(t, st) {
	const c = t.columns[st.sort];
	if (!c || t.resort) return t.rows;
	const key = c.value || c.text, sign = st.down ? -1 : 1;
	return [...t.rows].sort((a, b) => {
		const x = key(a), y = key(b);
		if (typeof x === "string") return sign * compareText(x, y);
		if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
		return sign * (x - y);
	});
}

function tableBody(t, st) {
	const body = h("tbody");
	for (const row of sortedRows(t, st).slice(0, st.shown)) {
		const on = t.selected && t.selected(row);
		const tr = h("tr", {class: on ? "on" : null, "aria-selected": t.selected ? String(!!on) : null, tabindex: t.onselect ? "0" : null});
		if (t.onselect) {
			tr.addEventListener("click", ev => { if (!ev.target.closest("button,a,input")) pick(ev, ev.shiftKey || ev.ctrlKey || ev.metaKey); });
			tr.addEventListener("keydown", ev => rowKey(ev, tr, pick));
		}
		const pick = (ev, more) => {
			const at = [...body.children].indexOf(tr), held = document.activeElement === tr;
			t.onselect(row, more);
			const again = byID(t.id);
			if (held && again && again.tBodies[0].rows[at]) again.tBodies[0].rows[at].focus();
		};
		t.columns.forEach((c, i) => {
			const cell = c.cell ? c.cell(row) : c.text ? show(c.text(row)) : measure(c.value(row), c.unit);
			tr.append(h(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: columnClass(c)}, c.strong && c.strong(row) ? h("b", null, cell) : cell));
		});
		body.append(tr);
	}
	return body;
}

function rowKey(ev, tr, pick) {
	if (ev.target !== tr || ev.key !== "Enter" && ev.key !== " ") return;
	pick(ev, ev.shiftKey || ev.ctrlKey || ev.metaKey);
	ev.preventDefault();
}

function moreButtons(t, st, draw) {
	const left = t.rows.length - st.shown;
	if (left <= 0) return st.shown > (t.limit || 20) && t.rows.length > (t.limit || 20) ? h("p.more", null, h("button", {type: "button", onclick: () => { st.shown = t.limit || 20; draw(); }}, "show fewer")) : null;
	const step = Math.min(left, Math.max(50, st.shown * 2));
	return h("p.more", null, `${count(st.shown)} of ${count(t.rows.length)} shown `, h("button", {type: "button", onclick: () => { st.shown += step; draw(); }}, `show ${count(step)} more`));
}
