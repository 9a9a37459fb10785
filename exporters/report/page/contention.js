// The contention section: the order of the aspects, the tree, the call chains and the table of locks.

function makeContention() {
	const c = D.contention;
	c.hasGoroutines = (c.waits.wid || []).some(id => id > 0);
	c.hasRoots = (c.roots.links || []).some(n => n > 0);
	return section("contention", "contention", h("p.about", null, "Who waited, for what, and who held it during the wait. Time that belongs to no owner is hand-off (the lock was on its way to its next owner) or unattributed (it is not known who held it, or whether it was held)." + (hasReady(c) ? " Ready is the time after a wait until the goroutine had a processor." : "") + " The root is the owner at the end of a chain of owners that waited themselves."),
		h("p.lead#contention-lead"), h("div.aspect-box#aspects"),
		h("p.key", {"aria-hidden": "true"}, [["blamed", "blamed on an owner"], ["handoff", "hand-off"], ["unattributed", "unattributed"]].map(([what, words]) => h("span", null, h("i." + what), words))),
		h("div.columns.wide-left", null, h("div", null, makeTree(), h("div#activity")), h("div#chains.chains")), h("h3", null, "locks, and what else was waited for"), h("div#locks"), h("div#unfinished"), notes(contentionNotes(c), "notes on contention"));
}

function contentionNotes(c) {
	const out = [...c.warnings], d = c.dropped;
	if (c.rates) out.push(c.rates);
	if (c.accuracy === "inferred") out.unshift("Owners are inferred from the trace; what it does not tell is unattributed.");
	if (c.inFlight) out.push(`${plural(c.inFlight, "wait", "waits")} had not ended when the recording did. Sums are without them.`);
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
	const leaf = i => c.stacks[i] && c.stacks[i].f[0], func = i => leaf(i) ? c.funcs[leaf(i)[0]] : UNKNOWN;
	const party = (group, stack) => [c.partyOf[group] >= 0 ? groupName(c.partyOf[group]) : UNKNOWN, leaf(stack) ? h("span.muted", null, ", at ", h("bdi", {title: show(chainText(c, stack), 1000)}, show(shortFunc(func(stack)), 100))) : null];
	const holder = r => !r.ofLock ? "" : r.og < 0 ? h("span.muted", {title: "no event of the trace shows it"}, "cannot tell") : party(r.og, r.os);
	return [h("h3", null, "still waiting when the trace ended, in none of the sums"), dataTable({
		id: "unfinished-rows", label: "waits that went on when the trace ended", rows, limit: 10,
		columns: [
			{title: "lock", text: r => r.lock, cell: r => name(r.lock, r.title)},
			{title: "kind", text: r => r.kind, cell: r => show(r.kind)},
			{title: "who waits", text: r => func(r.ws), cell: r => party(r.wg, r.ws)},
			{title: "goroutines", num: true, value: r => r.n, cell: r => count(r.n)},
			{title: `${waitedWord(c)} so far`, num: true, value: r => r.waited, cell: r => duration(r.waited), help: "all together"},
			{title: "longest", num: true, value: r => r.longest, cell: r => duration(r.longest), wide: true},
			{title: "who holds it then", text: r => r.og < 0 ? "" : c.parties[r.og], cell: holder, help: "known of locks, where an event of the trace shows it"},
			{title: "for at least", num: true, value: r => r.held, cell: r => r.held ? duration(r.held) : "", help: "since an event showed that it held the lock"},
		],
	})];
}

// blamedOnSelection returns how long others waited for the selected groups.
function blamedOnSelection() {
	if (!state.sel.groups.length) return null;
	const P = shownContention(state.sel).pairs, f = contentionFilter(state.sel);
	let t = 0;
	for (let i = 0; i < (P.kind || []).length; i++) if (f.blamedOn(i)) t += P.blamed[i];
	return ` The selected groups are to blame for ${duration(t)} of all waits.`;
}

function lockTable(filter) {
	const c = shownContention(state.sel), rows = c.locks.map(l => ({l, n: 0, waited: 0, blamed: 0, handOff: 0, unattributed: 0, ready: 0, idle: 0, forWork: 0, parks: 0, longest: 0}));
	const W = c.waits, P = c.pairs;
	for (let i = 0; i < (W.kind || []).length; i++) {
		if (!filter.wait(i)) continue;
		const r = rows[W.lock[i]];
		for (const key of ["n", "handOff", "unattributed", "ready", "idle", "parks"]) r[key] += W[key][i];
		if (W.forWork[i]) r.forWork += W.handOff[i] + W.unattributed[i];
		r.kind = c.kinds[W.kind[i]];
		r.longest = Math.max(r.longest, W.longest[i]);
	}
	for (let i = 0; i < (P.kind || []).length; i++) if (filter.pair(i)) {
		rows[P.lock[i]].blamed += P.blamed[i];
		if (P.forWork[i]) rows[P.lock[i]].forWork += P.blamed[i];
	}
	for (const r of rows) r.waited = r.blamed + r.handOff + r.unattributed;
	return dataTable({
		id: "lock-rows", label: "locks", rows: rows.filter(r => r.waited > 0 || r.n > 0).sort(byCost), limit: 10,
		columns: [
			{title: "lock", text: r => r.l.name, cell: r => name(r.l.name, r.l.title)},
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
			...(c.cover ? [] : [{title: "contended", num: true, value: r => r.l.contended, cell: r => r.l.waiters ? percent(r.l.contended, c.duration) : "–", wide: true, help: "part of the recording in which it is known to have been held while others waited; known of locks only"},
			{title: "most waiters", num: true, value: r => r.l.waiters, cell: r => r.l.waiters ? count(r.l.waiters) : "–", wide: true, help: "at the same time; known of locks only"}]), // of the whole recording only
		],
		selected: r => state.sel.locks.includes(r.l.name), onselect: (r, more) => toggle("locks", r.l.name, more),
	});
}
