// Call chains: those of waiters on the left, those of the owners that they waited for on the right. A click on one side
// filters the other.

const chainsShown = {waiter: null, owner: null};

// pairsBelow returns the pairs of a node of the tree, by the aspects on the way to it.
function pairsBelow(path, filter) {
	const c = shownContention(state.sel), aspects = aspectOrder(), keys = path ? path.split(pathSeparator).slice(1) : [];
	const fits = (row, owner) => keys.every((key, level) => {
		const a = aspects[level];
		if (a === undefined || !owner && ofOwner(a) && a !== "flags") return true;
		return ofRoot(a) ? row.roots.some(r => keyOf(row, a, r) === key) : keyOf(row, a) === key;
	});
	const pairs = c.pairs.filter(q => filter.pair(q) && fits(q, true));
	const noOwner = keys.find(k => k === HAND_OFF || k === UNATTRIBUTED || k === READY);
	const owned = keys.some((_, level) => /^(owner|root)-/.test(aspects[level] || "")) && !noOwner;
	return {pairs, waits: owned ? [] : c.waits.filter(w => filter.wait(w) && fits(w, false)), noOwner};
}

const chainKey = party => party.none || chainText(party.stack) + pathSeparator + party.group;

function drawChains(filter) {
	const {pairs, waits, noOwner} = pairsBelow(state.view.tree, filter);
	const rows = pairs.map(q => ({waiter: q.waiter, owner: q.owner, time: q.wait_ns, forWork: q.forWork}));
	for (const [none, part] of [[HAND_OFF, "handoff_ns"], [UNATTRIBUTED, "unattributed_ns"]]) {
		if (!noOwner || noOwner === none) for (const w of waits) if (w[part] > 0) rows.push({waiter: w.waiter, owner: {none}, time: w[part], forWork: w.forWork});
	}
	for (const side of ["waiter", "owner"]) if (!rows.some(r => chainKey(r[side]) === chainsShown[side])) chainsShown[side] = null; // it has nothing to do with this selection
	// sums returns the time of each chain of a side, with the chosen one of the other side.
	const sums = (side, other) => {
		const map = new Map();
		for (const r of rows) {
			const key = chainKey(r[side]), e = map.get(key) || {key, party: r[side], waited: 0, forWork: 0, ready: 0};
			if (chainsShown[other] !== null && chainsShown[other] !== chainKey(r[other])) continue;
			e.waited += r.time;
			if (r.forWork) e.forWork += r.time;
			map.set(key, e);
		}
		return map;
	};
	drawActivity(pairs);
	fill(byID("chains"), chainList("waiter", "who waited", sums("waiter", "owner")), chainList("owner", "who held it", sums("owner", "waiter")));
}

function chainList(side, title, map) {
	const rows = [...map.values()].filter(e => e.waited > 0).sort(byCost), total = rows.reduce((t, e) => t + e.waited, 0);
	return h("div.chain-list", null, h("h4", null, title + ", and from where", h("span.muted", null, " " + duration(total))),
		h("ul", {"aria-label": title}, rows.slice(0, 5).map(e => chainItem(side, e, total))),
		rows.length > 5 ? h("p.muted", null, `${count(rows.length - 5)} more, ${duration(rows.slice(5).reduce((t, e) => t + e.waited, 0))}`) : null);
}

// drawActivity shows what owners did while others waited for them.
function drawActivity(pairs) {
	const parts = new Map();
	const put = (what, t) => { if (t > 0) parts.set(what, (parts.get(what) || 0) + t); };
	for (const q of pairs) {
		put("ran", q.running_ns);
		put("ready to run", q.runnable_ns);
		put("not known", q.wait_ns - q.running_ns - q.runnable_ns - Object.values(q.blocked_ns).reduce((t, v) => t + v, 0));
		for (const [kind, t] of Object.entries(q.blocked_ns)) put("blocked: " + kind, t);
	}
	const rows = [...parts].sort((a, b) => b[1] - a[1]), total = rows.reduce((t, r) => t + r[1], 0), known = rows.some(([what]) => what !== "not known");
	fill(byID("activity"), known ? [h("h4", null, "what the owners did"), barTable("what owners did", rows, total)] : null);
}

const NO_OWNER = {[HAND_OFF]: "on its way to the next owner", [UNATTRIBUTED]: "not known"};

function chainItem(side, e, total) {
	const key = e.key, on = chainsShown[side] === key, group = groupNamed(e.party.group), frames = e.party.stack ? e.party.stack.frames : [];
	return h("li" + (on ? ".on" : ""), null, h("button.chain", {type: "button", "aria-pressed": String(on), onclick: () => {
		chainsShown[side] = on ? null : key;
		drawContention();
	}}, h("span.chain-head", null, h("span.chain-bar", {style: {width: 100 * e.waited / Math.max(1, total) + "%"}, "aria-hidden": "true"}),
		h("b", null, duration(e.waited)), " ", group >= 0 ? [swatch(D.groups[group].color), h("bdi", null, groupTitle(group))] : NO_OWNER[e.party.none] || UNKNOWN)),
	frames.length ? h("ol.frames", null, frames.slice(0, on ? 64 : 5).map(f => h("li", null, h("bdi.name", {title: show(placeOf(f), 1000)}, show(shortFunc(f.func), 100)),
		f.file ? h("span.muted", null, " " + show(f.file.split(/[\\/]/).pop(), 60) + ":" + f.line) : null)),
		frames.length > 5 && !on ? h("li.muted", null, `… ${frames.length - 5} more`) : null) : NO_OWNER[e.party.none] ? null : h("p.muted", null, "call chain not known"));
}
