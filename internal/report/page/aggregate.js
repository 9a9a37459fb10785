// Contention: totals by any aspects, in any order. It computes what Go's contention.Profile.Aggregate computes; a test compares the two.
// Each wait counts once above the first aspect of the owner, and once per owner below it.

const ASPECTS = ["kind", "class", "lock", "flags", "waiter-goroutine", "waiter-group", "waiter-func", "waiter-stack", "owner-goroutine", "owner-group", "owner-func", "owner-stack",
	"root-goroutine", "root-group", "root-func", "root-stack"];
const LOCKS = ["mutex", "rwmutex-writer", "rwmutex-reader", "once"]; // that another goroutine held
const HAND_OFF = "[hand-off]", UNATTRIBUTED = "[unattributed]", READY = "[ready]", UNKNOWN = "[unknown]";

const ofRoot = aspect => aspect.startsWith("root-");
const ofOwner = aspect => aspect.startsWith("owner-") || ofRoot(aspect) || aspect === "flags";

// link returns a profile with its rows in the form that the scripts need: with the waiter and the owner and their call chains, with
// the pair's owner as its root if there is no other, and with whether the wait need not cost anything.
function link({profile, windows, short, forWork, ...rest}) {
	for (const p of [profile, ...windows ? windows.parts : []]) {
		const zero = {lock: "", class: "", flags: [], handoff_ns: 0, unattributed_ns: 0, ready_ns: 0, ready_idle_ns: 0, parks: 0, longest_ns: 0, held_ns: 0, running_ns: 0, runnable_ns: 0, blocked_ns: {}, links: 0};
		const party = (row, role) => ({group: row[role + "_group"], goroutine: row[role + "_goroutine"], stack: p.stacks[row[role + "_id"] - 1]});
		const full = rows => rows.map(row => ({...zero, ...row, waiter: party(row, "waiter"), owner: party(row, "owner"), // what is 0 or empty is omitted
			forWork: !!Object.getOwnPropertyDescriptor(forWork, row.kind + " " + (leafOf(party(row, "waiter")) || {func: ""}).func)?.value,
			roots: row.roots ? full(row.roots) : [{owner: party(row, "owner"), links: 0, contentions: row.contentions, wait_ns: row.wait_ns}]}));
		Object.assign(p, {waits: full(p.waits), pairs: full(p.pairs), unfinished: full(p.unfinished)});
	}
	return {...profile, ...rest, windows, short: new Map(Object.entries(short))};
}

// leafOf returns the innermost call of a party, if it is known.
function leafOf(party) { return party.stack && party.stack.frames[0]; }
const funcOf = party => (leafOf(party) || {}).func || UNKNOWN;
const placeOf = f => f.func + (f.file ? ` ${f.file}:${f.line}` : "");

// chainText returns a call chain, leaf first, as Stack.String does.
function chainText(chain) {
	if (!chain || !chain.frames.length) return UNKNOWN;
	return chain.text ||= chain.frames.map(placeOf).join(" < ") + (chain.truncated ? " < …" : "");
}

// keyOf returns the value of an aspect of a row; root is one of its roots.
function keyOf(row, aspect, root) {
	switch (aspect) {
	case "kind": return row.kind;
	case "class": return row.class || UNKNOWN;
	case "lock": return row.lock;
	case "flags": return row.flags.join();
	}
	const who = ofRoot(aspect) ? root.owner : ofOwner(aspect) ? row.owner : row.waiter;
	switch (aspect.slice(aspect.indexOf("-") + 1)) {
	case "goroutine": return who.goroutine ? String(who.goroutine) : UNKNOWN;
	case "group": return who.group || UNKNOWN;
	case "func": return funcOf(who);
	}
	return chainText(who.stack);
}

const newNode = (aspect, key) => ({aspect, key, n: 0, waited: 0, blamed: 0, handOff: 0, unattributed: 0, ready: 0, idle: 0, forWork: 0, children: [], index: new Map()});

// wayOf returns the nodes from the root to the leaf of a row, and creates missing ones. noOwner, if not empty, is the key for aspects
// of the owner.
function wayOf(top, row, aspects, noOwner, root) {
	const way = [top];
	let t = top;
	for (const a of aspects) {
		const key = noOwner && ofOwner(a) && a !== "flags" ? noOwner : keyOf(row, a, root);
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

// aggregate sums the rows that a filter selects: {wait(row), pair(row), unowned}. A filter for owners has unowned false, which omits
// time without an owner.
function aggregate(c, aspects, filter) {
	const keep = filter || {wait: () => true, pair: () => true, unowned: true};
	const place = f => aspects.some(f) ? aspects.findIndex(f) : aspects.length, owners = place(ofOwner), roots = place(ofRoot);
	const top = newNode("", "");
	const put = (t, what, time, row) => {
		t[what] += time;
		if (row.forWork) t.forWork += time;
	};
	for (const w of c.waits) {
		if (!keep.wait(w)) continue;
		for (const t of wayOf(top, w, aspects.slice(0, owners), "")) t.n += w.contentions;
		if (!keep.unowned) continue;
		for (const [what, time, key] of [["handOff", w.handoff_ns, HAND_OFF], ["unattributed", w.unattributed_ns, UNATTRIBUTED]]) if (time > 0) for (const t of wayOf(top, w, aspects, key)) put(t, what, time, w);
		if (w.ready_ns > 0) for (const t of wayOf(top, w, aspects, READY)) {
			t.ready += w.ready_ns;
			t.idle += w.ready_idle_ns;
		}
	}
	for (const q of c.pairs) {
		if (!keep.pair(q)) continue;
		const way = (to, root) => wayOf(top, q, aspects.slice(0, to), "", root);
		way(roots).forEach((t, level) => {
			if (level > owners) t.n += q.contentions;
			if (roots === aspects.length) put(t, "blamed", q.wait_ns, q);
		});
		if (roots < aspects.length) for (const r of q.roots) way(aspects.length, r).forEach((t, level) => {
			put(t, "blamed", r.wait_ns, q);
			if (level > roots) t.n += r.contentions;
		});
	}
	finish(top);
	return top;
}

// hasReady reports whether the profile has the time for which goroutines were ready after their waits. Traces have it, wrapped locks do not.
const hasReady = c => c.source === "trace" || c.waits.some(w => w.parks > 0);
const waitedWord = c => hasReady(c) ? "blocked" : "waited";

function finish(t) {
	t.waited = t.blamed + t.handOff + t.unattributed;
	t.children.forEach(finish);
	t.children.sort((a, b) => b.waited - a.waited || b.ready - a.ready || compareText(a.key, b.key));
}

// byCost compares nodes, locks and the like. Waits for workers, work or the network come last, because they need not cost anything.
const byCost = (a, b) => (b.waited - b.forWork) - (a.waited - a.forWork) || b.waited - a.waited || b.ready - a.ready;

// shownContention returns the profile with the rows of the selection: those of the windows that its time touches. Without a selection
// of time, or if the times of waits are unknown, it returns all rows.
function shownContention(sel) {
	const c = D.contention, cover = covered(c.windows, sel.time), key = cover && cover.lo + "-" + cover.hi;
	if (!cover) return c;
	const rows = what => c.windows.parts.slice(cover.lo, cover.hi).flatMap(p => p[what]);
	if (!c.inWindows || c.inWindows.key !== key) c.inWindows = {...c, key, waits: rows("waits"), pairs: rows("pairs")};
	c.inWindows.cover = cover;
	return c.inWindows;
}

// contentionFilter selects, of the rows of shownContention, the waits of selected waiters and the blame of selected owners.
function contentionFilter(sel) {
	const groups = new Set(sel.groups), ids = new Set(sel.goroutines), locks = new Set(sel.locks), named = D.contention.hasGoroutines;
	const who = party => (!groups.size || groups.has(groupNamed(party.group))) && (!ids.size || !named || ids.has(party.goroutine));
	const lock = row => !locks.size || locks.has(row.lock), free = !groups.size && !(ids.size && named);
	return {
		wait: w => lock(w) && who(w.waiter),
		pair: q => lock(q) && (free || who(q.waiter)),
		blamedOn: q => lock(q) && who(q.owner),
		unfinished: u => lock(u) && who(u.waiter),
		unowned: true,
	};
}
