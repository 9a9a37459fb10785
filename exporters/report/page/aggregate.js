// Contention: totals by any aspects, in any order. It computes what Go's contention.Profile.Aggregate computes; a test compares the two.
// Each wait counts once above the first aspect of the owner, and once per owner below it.

const ASPECTS = ["kind", "class", "lock", "flags", "waiter-goroutine", "waiter-group", "waiter-func", "waiter-stack", "owner-goroutine", "owner-group", "owner-func", "owner-stack",
	"root-goroutine", "root-group", "root-func", "root-stack"];
const HAND_OFF = "[hand-off]", UNATTRIBUTED = "[unattributed]", READY = "[ready]", UNKNOWN = "[unknown]";

const ofRoot = aspect => aspect.startsWith("root-");
const ofOwner = aspect => aspect.startsWith("owner-") || ofRoot(aspect) || aspect === "flags";

// chainText returns a call chain, leaf first, as Stack.String does.
function chainText(c, i) {
	const chain = c.stacks[i];
	if (!chain || !chain.f.length) return UNKNOWN;
	if (chain.text === undefined) {
		chain.text = chain.f.map(([f, file, line]) => c.funcs[f] + (c.files[file] ? ` ${c.files[file]}:${line}` : "")).join(" < ") + (chain.t ? " < …" : "");
	}
	return chain.text;
}

// keyOf returns the value of an aspect of a row; r is the selected root, −1 for none.
function keyOf(c, rows, i, aspect, r = -1) {
	switch (aspect) {
	case "kind": return c.kinds[rows.kind[i]];
	case "class": return c.locks[rows.lock[i]].class || UNKNOWN;
	case "lock": return c.locks[rows.lock[i]].name;
	case "flags": return c.flagSets[rows.flags[i]];
	}
	const R = c.roots, who = ofRoot(aspect) && r >= 0 ? [R.rs, R.rg, R.rid] : ofOwner(aspect) ? [rows.os, rows.og, rows.oid] : [rows.ws, rows.wg, rows.wid];
	const [stack, group, id] = who;
	if (ofRoot(aspect) && r >= 0) i = r;
	switch (aspect.slice(aspect.indexOf("-") + 1)) {
	case "goroutine": return id && id[i] ? String(id[i]) : UNKNOWN;
	case "group": return group && c.parties[group[i]] || UNKNOWN;
	case "func": {
		const chain = stack && c.stacks[stack[i]];
		return chain && chain.f.length ? c.funcs[chain.f[0][0]] || UNKNOWN : UNKNOWN;
	}
	}
	return stack ? chainText(c, stack[i]) : UNKNOWN;
}

const newNode = (aspect, key) => ({aspect, key, n: 0, waited: 0, blamed: 0, handOff: 0, unattributed: 0, ready: 0, idle: 0, forWork: 0, children: [], index: new Map()});

// wayOf returns the nodes from the root to the leaf of a row, and creates missing ones. noOwner, if not empty, is the key for aspects
// of the owner.
function wayOf(root, c, rows, i, aspects, noOwner, r = -1) {
	const way = [root];
	let t = root;
	for (const a of aspects) {
		const key = noOwner && ofOwner(a) && a !== "flags" ? noOwner : keyOf(c, rows, i, a, r);
		let child = t.index.get(key);
		if (!child) {
			child = newNode(a, key);
			t.index.set(key, child);
			t.children.push(child);
		}
		way.push(t = child);
	}
	return way;
}

// aggregate sums the rows that a filter selects: {wait(i), pair(i), unowned}. A filter for owners has unowned false, which omits time
// without an owner.
function aggregate(c, aspects, filter) {
	const keep = filter || {wait: () => true, pair: () => true, unowned: true};
	const place = f => aspects.some(f) ? aspects.findIndex(f) : aspects.length, owners = place(ofOwner), roots = place(ofRoot);
	const root = newNode("", ""), W = c.waits, P = c.pairs;
	for (let i = 0; i < (W.kind || []).length; i++) {
		if (!keep.wait(i)) continue;
		for (const t of wayOf(root, c, W, i, aspects.slice(0, owners), "")) t.n += W.n[i];
		if (!keep.unowned) continue;
		for (const [what, key] of [["handOff", HAND_OFF], ["unattributed", UNATTRIBUTED]]) if (W[what][i] > 0) for (const t of wayOf(root, c, W, i, aspects, key)) {
			t[what] += W[what][i];
			if (W.forWork[i]) t.forWork += W[what][i];
		}
		if (W.ready[i] > 0) for (const t of wayOf(root, c, W, i, aspects, READY)) {
			t.ready += W.ready[i];
			t.idle += W.idle[i];
		}
	}
	const way = (i, to, r) => wayOf(root, c, P, i, aspects.slice(0, to), "", r);
	for (let i = 0; i < (P.kind || []).length; i++) {
		if (!keep.pair(i)) continue;
		if (roots === aspects.length) for (const t of way(i, aspects.length)) {
			t.blamed += P.blamed[i];
			if (P.forWork[i]) t.forWork += P.blamed[i];
		}
		way(i, roots).forEach((t, level) => { if (level > owners) t.n += P.n[i]; });
	}
	for (let r = 0; roots < aspects.length && r < (c.roots.pair || []).length; r++) {
		if (!keep.pair(c.roots.pair[r])) continue;
		way(c.roots.pair[r], aspects.length, r).forEach((t, level) => {
			t.blamed += c.roots.blamed[r];
			if (P.forWork[c.roots.pair[r]]) t.forWork += c.roots.blamed[r];
			if (level > roots) t.n += c.roots.n[r];
		});
	}
	finish(root);
	return root;
}

// hasReady reports whether the profile has the time for which goroutines were ready after their waits. Traces have it, wrapped locks do not.
const hasReady = c => c.source === "trace" || (c.waits.parks || []).some(n => n > 0);
const waitedWord = c => hasReady(c) ? "blocked" : "waited";

function finish(t) {
	t.waited = t.blamed + t.handOff + t.unattributed;
	t.children.forEach(finish);
	t.children.sort((a, b) => b.waited - a.waited || b.ready - a.ready || compareText(a.key, b.key));
}

// byCost compares nodes, locks and the like. Waits for workers, work or the network come last, because they need not cost anything.
const byCost = (a, b) => (b.waited - b.forWork) - (a.waited - a.forWork) || b.waited - a.waited || b.ready - a.ready;

// shownContention returns the profile with the rows of the selection: those of the windows [lo, hi) of cover that its time touches.
// Without a selection of time, or if the times of waits are unknown, it returns all rows.
function shownContention(sel) {
	const c = D.contention, cover = covered(c.windows, sel.time);
	if (!cover) return c;
	if (!c.inWindows) c.inWindows = {...c, waits: c.windows.waits, pairs: c.windows.pairs, roots: c.windows.roots, rootsOf: null};
	c.inWindows.cover = cover;
	return c.inWindows;
}

// contentionFilter selects, of the rows of shownContention, the waits of selected waiters and the blame of selected owners.
function contentionFilter(sel) {
	const c = shownContention(sel), W = c.waits, P = c.pairs, {lo, hi} = c.cover || {};
	const then = c.cover ? (rows, i) => rows.window[i] >= lo && rows.window[i] < hi : () => true;
	const groups = new Set(sel.groups), ids = new Set(sel.goroutines), locks = new Set(sel.locks), named = c.hasGoroutines;
	const who = (group, id) => (!groups.size || groups.has(c.partyOf[group])) && (!ids.size || !named || ids.has(id));
	const lock = i => !locks.size || locks.has(c.locks[i].name);
	const free = !groups.size && !(ids.size && named);
	return {
		wait: i => then(W, i) && lock(W.lock[i]) && who(W.wg[i], W.wid[i]),
		pair: i => then(P, i) && lock(P.lock[i]) && (free || who(P.wg[i], P.wid[i])),
		blamedOn: i => then(P, i) && lock(P.lock[i]) && who(P.og[i], P.oid[i]),
		unfinished: r => (!locks.size || locks.has(r.lock)) && who(r.wg, r.wid),
		unowned: true,
	};
}
