// The tree of totals: rows that open and close, each with a bar of its parts. Keys: up, down, left closes or goes up, right opens
// or goes down, Home, End; Enter selects.

const openNodes = new Set(); // paths
const pathSeparator = "\u0001";

function makeTree() { return h("div.scroll#tree-scroll", {tabindex: "-1"}, h("div.tree#tree" + (hasReady(D.contention) ? ".has-ready" : ""), {role: "tree", "aria-label": "totals of the waits"})); }

function drawTree(root, total) {
	const tree = byID("tree"), focus = document.activeElement && tree.contains(document.activeElement) ? document.activeElement.dataset.path : null;
	const rows = [];
	const walk = (t, level, path) => {
		const limit = shownChildren.get(path) || 12, children = [...t.children].sort((a, b) => byCost(a, b) || compareText(a.key, b.key));
		children.slice(0, limit).forEach((c, i) => {
			if (level === 1 && c.waited > 0 && c.forWork === c.waited && (i === 0 || children[i - 1].forWork < children[i - 1].waited)) rows.push(h("p.tree-note.muted", {role: "none"}, "Waits for workers, for work or for the network, which need not cost anything:"));
			const at = path + pathSeparator + c.key;
			rows.push(treeRow(c, level, at, total, i, t.children.length));
			if (openNodes.has(at)) walk(c, level + 1, at);
		});
		if (t.children.length > limit) rows.push(h("div.tree-more", {style: {"--level": level}}, h("button", {type: "button", onclick: () => { shownChildren.set(path, limit * 4); drawContention(); }}, `${count(t.children.length - limit)} more`)));
	};
	const order = aspectOrder().join();
	if (root.children.length && treeOrder !== order) {
		openNodes.clear();
		openNodes.add(pathSeparator + [...root.children].sort(byCost)[0].key);
		if (treeOrder !== null) state.view.tree = "";
	}
	treeOrder = order;
	walk(root, 1, "");
	fill(tree, rows.length ? rows : h("p.muted", null, root.waited ? "Add an aspect to tell the waits apart." : "Nothing waited."));
	const again = focus !== null && treeRows().find(e => e.dataset.path === focus);
	const stop = again || treeRows().find(e => e.dataset.path === treeFocus) || treeRows()[0];
	if (stop) stop.setAttribute("tabindex", "0");
	if (again) again.focus();
}

const shownChildren = new Map();
let treeFocus = "", treeOrder = null;

function treeRow(t, level, path, total, i, siblings) {
	const open = openNodes.has(path), leaf = !t.children.length;
	const bar = (what, v) => v > 0 ? h("span." + what, {style: {width: 100 * v / Math.max(1, total) + "%"}}) : null;
	const words = `${t.aspect.replace("-", " ")} ${nodeTitle(t)}: ${waitedWord(D.contention)} ${duration(t.waited)} (${percent(t.waited, total)}), ${count(t.n)} waits${t.ready ? `, then ready ${duration(t.ready)}` : ""}; blamed ${duration(t.blamed)}, hand-off ${duration(t.handOff)}, unattributed ${duration(t.unattributed)}`;
	const row = h("div.tree-row" + (path === state.view.tree ? ".on" : ""), {role: "treeitem", tabindex: "-1", "aria-level": level, "aria-setsize": siblings, "aria-posinset": i + 1, "aria-expanded": leaf ? null : String(open), "aria-selected": String(path === state.view.tree),
		"aria-label": words, "data-path": path, style: {"--level": level}, onclick: ev => clickRow(ev, path, leaf), onkeydown: ev => treeKey(ev, path, leaf)},
		h("span.twist", {"aria-hidden": "true"}, leaf ? "" : open ? "▾" : "▸"),
		h("span.tree-name", null, h("span.aspect", null, t.aspect.replace("-", " ")), h("bdi.name", {title: show(t.key, 1000)}, nodeTitle(t))),
		h("span.tree-bar", {"aria-hidden": "true"}, bar("blamed", t.blamed), bar("handoff", t.handOff), bar("unattributed", t.unattributed)),
		h("span.num", null, duration(t.waited)), h("span.num.muted", null, percent(t.waited, total)), h("span.num.muted.wide", null, count(t.n) + " ×"),
		hasReady(D.contention) ? h("span.num.muted.wide", {title: "ready after the wait, until they had a processor"}, t.ready ? "+" + duration(t.ready) : "") : null);
	return row;
}

// nodeTitle shortens functions and call chains.
function nodeTitle(t) {
	if (t.key === "") return "(none)";
	if (t.aspect.endsWith("-stack")) return show(t.key.split(" < ").slice(0, 4).map(f => shortFunc(f.split(" ")[0])).join(" ← ") + (t.key.split(" < ").length > 4 ? " ← …" : ""));
	return show(/-(func|group)$|^(class|lock)$/.test(t.aspect) ? shortFunc(t.key) : t.key);
}

// shortFunc removes the path of a function's package, like Go's internal/format.Func for the usual names.
function shortFunc(full) {
	const known = D.contention ? D.contention.short.get(full) : undefined;
	if (known !== undefined) return known;
	const cut = full.search(/[ [(]/), head = cut < 0 ? full : full.slice(0, cut), slash = head.lastIndexOf("/");
	return slash > 0 && head.indexOf(".", slash) >= 0 ? full.slice(slash + 1) : full;
}

function toggleRow(path) {
	if (!openNodes.delete(path)) openNodes.add(path);
	drawContention();
}

function clickRow(ev, path, leaf) {
	treeFocus = path;
	if (!leaf && ev.target.closest(".twist")) return toggleRow(path);
	if (!leaf && !openNodes.has(path)) openNodes.add(path);
	chooseRow(path);
}

// chooseRow selects a row, whose call chains are shown, or no row.
function chooseRow(path) {
	state.view.tree = state.view.tree === path ? "" : path;
	drawContention();
	focusRow(path);
}

const treeRows = () => [...byID("tree").querySelectorAll("[role=treeitem]")];

function focusRow(path) {
	const all = treeRows(), row = all.find(e => e.dataset.path === path);
	if (!row) return;
	for (const e of all) e.setAttribute("tabindex", e === row ? "0" : "-1");
	treeFocus = path;
	row.focus();
}

function treeKey(ev, path, leaf) {
	const all = treeRows(), i = all.findIndex(e => e.dataset.path === path), open = openNodes.has(path), to = e => e && focusRow(e.dataset.path);
	const act = {
		ArrowDown: () => to(all[i + 1]), ArrowUp: () => to(all[i - 1]), Home: () => to(all[0]), End: () => to(all[all.length - 1]),
		ArrowRight: () => leaf || (open ? to(all[i + 1]) : toggleRow(path)),
		ArrowLeft: () => open ? toggleRow(path) : focusRow(path.slice(0, path.lastIndexOf(pathSeparator))),
		Enter: () => chooseRow(path), " ": () => chooseRow(path),
	}[ev.key];
	if (!act) return;
	act();
	ev.preventDefault();
	ev.stopPropagation();
}
