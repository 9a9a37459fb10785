// The contention section: the order of the aspects, the tree, the call chains and the table of locks.

function makeContention() {
	const c = D.contention;
	c.hasGoroutines = c.waits.some(w => w.waiter.goroutine > 0);
	c.hasRoots = c.pairs.some(q => q.roots.some(r => r.links > 0));
	const rank = u => LOCKS.includes(u.kind) ? 0 : u.forWork ? 2 : 1;
	c.unfinished.sort((a, b) => rank(a) - rank(b));
	return section("contention", "contention", h("p.about", null, "Who waited, for what, and who held it during the wait. Time that belongs to no owner is hand-off (the lock was on its way to its next owner) or unattributed (it is not known who held it, or whether it was held)." + (hasReady(c) ? " Ready is the time after a wait until the goroutine had a processor." : "") + " The root is the owner at the end of a chain of owners that waited themselves."),
		h("p.lead#contention-lead"), h("div.aspect-box#aspects"),
		h("p.key", {"aria-hidden": "true"}, [["blamed", "blamed on an owner"], ["handoff", "hand-off"], ["unattributed", "unattributed"]].map(([what, words]) => h("span", null, h("i." + what), words))),
		h("div.columns.wide-left", null, h("div", null, makeTree(), h("div#activity")), h("div#chains.chains")), h("h3", null, "locks, and what else was waited for"), h("div#locks"), h("div#unfinished"), notes(contentionNotes(c), "notes on contention"));
}

function contentionNotes(c) {
	const out = [...c.warnings], d = c.dropped;
	if (c.rates) out.push(c.rates);
	if (c.accuracy === "inferred") out.unshift("Owners are inferred from the trace; what it does not tell is unattributed.");
	if (c.in_flight) out.push(`${plural(c.in_flight, "wait", "waits")} had not ended when the recording did. Sums are without them.`);
	const lost = Object.entries(d).filter(([, n]) => n > 0).map(([what, n]) => `${count(n)} ${what.toLowerCase()}`);
	if (lost.length) out.push("Did not fit into bounded memory, and is put together: " + lost.join(", ") + ".");
	return out;
}

function drawContention() {
	if (!D.contention || !byID("contention")) return;
	const filter = contentionFilter(state.sel), c = shownContention(state.sel), root = aggregate(c, aspectOrder(), filter);
	drawAspects();
	fill(byID("contention-lead"), h("b", null, duration(root.waited)), ` ${waitedWord(c)} in ${plural(root.n, "wait", "waits")}`, root.waited ? `: ${percent(root.blamed, root.waited)} blamed on owners, ${percent(root.handOff, root.waited)} hand-off, ${percent(root.unattributed, root.waited)} unattributed.` : ".",
		root.forWork ? ` ${duration(root.forWork)} (${percent(root.forWork, root.waited)}) of that is waits for workers, for work or for the network, which need not cost anything.` : null,
		root.ready ? ` Then ready for ${duration(root.ready)}, until they had a processor; for ${duration(root.idle)} of that, one was idle.` : null,
		blamedOnSelection(), stretchNote(c.cover, "the profile does not say when somebody waited"),
		state.sel.goroutines.length && !D.contention.hasGoroutines ? h("span.muted", null, " Of all goroutines: the profile does not tell single ones apart.") : null);
	drawTree(root, root.waited);
	drawChains(filter);
	fill(byID("locks"), lockTable(filter));
	fill(byID("unfinished"), unfinishedTable(filter));
}

// unfinishedTable lists the waits in progress at the end of the trace, and the owners then.
function unfinishedTable(filter) {
	const c = D.contention, rows = c.unfinished.filter(filter.unfinished);
	if (!rows.length) return null;
	const party = p => [groupNamed(p.group) >= 0 ? groupName(groupNamed(p.group)) : UNKNOWN, leafOf(p) ? h("span.muted", null, ", at ", h("bdi", {title: show(chainText(p.stack), 1000)}, show(shortFunc(funcOf(p)), 100))) : null];
	const holder = r => !LOCKS.includes(r.kind) ? "" : !r.owner.group ? h("span.muted", {title: "no event of the trace shows it"}, "cannot tell") : party(r.owner);
	return [h("h3", null, "still waiting when the trace ended, in none of the sums"), dataTable({
		id: "unfinished-rows", label: "waits that went on when the trace ended", rows, limit: 10,
		columns: [
			{title: "lock", text: r => r.lock, cell: r => name(r.lock, shortFunc(r.lock))},
			{title: "kind", text: r => r.kind, cell: r => show(r.kind)},
			{title: "who waits", text: r => funcOf(r.waiter), cell: r => party(r.waiter)},
			{title: "goroutines", num: true, value: r => r.contentions, cell: r => count(r.contentions)},
			{title: `${waitedWord(c)} so far`, num: true, value: r => r.wait_ns, cell: r => duration(r.wait_ns), help: "all together"},
			{title: "longest", num: true, value: r => r.longest_ns, cell: r => duration(r.longest_ns), wide: true},
			{title: "who holds it then", text: r => r.owner.group || "", cell: holder, help: "known of locks, where an event of the trace shows it"},
			{title: "for at least", num: true, value: r => r.held_ns || 0, cell: r => r.held_ns ? duration(r.held_ns) : "", help: "since an event showed that it held the lock"},
		],
	})];
}

// blamedOnSelection returns how long others waited for the selected groups.
function blamedOnSelection() {
	if (!state.sel.groups.length) return null;
	const t = total(shownContention(state.sel).pairs.filter(contentionFilter(state.sel).blamedOn).map(q => q.wait_ns));
	return ` The selected groups are to blame for ${duration(t)} of all waits.`;
}

function lockTable(filter) {
	const c = shownContention(state.sel), byLock = new Map();
	const rowOf = r => {
		if (!byLock.has(r.lock_id)) byLock.set(r.lock_id, {name: r.lock, l: c.locks.find(l => l.id === r.lock_id) || {}, n: 0, waited: 0, blamed: 0, handOff: 0, unattributed: 0, ready: 0, idle: 0, forWork: 0, parks: 0, longest: 0});
		return byLock.get(r.lock_id);
	};
	for (const w of c.waits.filter(filter.wait)) {
		const r = rowOf(w);
		for (const [key, of] of [["n", "contentions"], ["handOff", "handoff_ns"], ["unattributed", "unattributed_ns"], ["ready", "ready_ns"], ["idle", "ready_idle_ns"], ["parks", "parks"]]) r[key] += w[of];
		if (w.forWork) r.forWork += w.handoff_ns + w.unattributed_ns;
		r.kind = w.kind;
		r.longest = Math.max(r.longest, w.longest_ns);
	}
	for (const q of c.pairs.filter(filter.pair)) {
		rowOf(q).blamed += q.wait_ns;
		if (q.forWork) rowOf(q).forWork += q.wait_ns;
	}
	const rows = [...byLock.values()];
	for (const r of rows) r.waited = r.blamed + r.handOff + r.unattributed;
	return dataTable({
		id: "lock-rows", label: "locks", rows: rows.filter(r => r.waited > 0 || r.n > 0).sort(byCost), limit: 10,
		columns: [
			{title: "lock", text: r => r.name, cell: r => name(r.name, shortFunc(r.name))},
			{title: "kind", text: r => r.kind || "", cell: r => show(r.kind || "")},
			{title: "waits", num: true, value: r => r.n, cell: r => count(r.n)},
			{title: waitedWord(c), num: true, value: r => r.waited, cell: r => duration(r.waited)},
			...(hasReady(c) ? [{title: "ready", num: true, value: r => r.ready, cell: r => r.parks ? duration(r.ready) : "–", help: "after the wait, until they had a processor"},
			{title: "idle", num: true, value: r => r.idle, cell: r => r.ready ? percent(r.idle, r.ready) : "–", wide: true, help: "part of ready in which a processor was idle"},
			{title: "parks", num: true, value: r => r.parks, cell: r => r.parks ? count(r.parks) : "–", wide: true, help: "how often they blocked, as the runtime's profiles count: a goroutine that is woken, loses the race and blocks again counts twice"}] : []),
			{title: "blamed", num: true, value: r => r.blamed, cell: r => percent(r.blamed, r.waited)},
			{title: "hand-off", num: true, value: r => r.handOff, cell: r => percent(r.handOff, r.waited), wide: true},
			{title: "unattributed", num: true, value: r => r.unattributed, cell: r => percent(r.unattributed, r.waited), wide: true},
			{title: "longest", num: true, value: r => r.longest, cell: r => r.n ? duration(r.longest) : "–", wide: true, help: "of the waits that ended there"},
			...(c.cover ? [] : [{title: "contended", num: true, value: r => r.l.contended_ns, cell: r => r.l.waiters ? percent(r.l.contended_ns, c.duration_ns) : "–", wide: true, help: "part of the recording in which it is known to have been held while others waited; known of locks only"},
			{title: "most waiters", num: true, value: r => r.l.waiters, cell: r => r.l.waiters ? count(r.l.waiters) : "–", wide: true, help: "at the same time; known of locks only"}]), // of the whole recording only
		],
		selected: r => state.sel.locks.includes(r.name), onselect: (r, more) => toggle("locks", r.name, more),
	});
}
