// Call chains: those of waiters on the left, those of the owners that they waited for on the right. A click on one side
// filters the other.

const chainsShown = {waiter: null, owner: null};

// pairsBelow returns the pairs of a node of the tree, by the aspects on the way to it.
function pairsBelow(path, filter) {
	const c = shownContention(state.sel), aspects = aspectOrder(), keys = path ? path.split(pathSeparator).slice(1) : [];
	const fits = (rows, i, owner) => keys.every((key, level) => {
		const a = aspects[level];
		if (a === undefined || !owner && ofOwner(a) && a !== "flags") return true;
		return owner && ofRoot(a) ? c.rootsOf[i].some(r => keyOf(c, rows, i, a, r) === key) : keyOf(c, rows, i, a) === key;
	});
	if (!c.rootsOf) {
		c.rootsOf = (c.pairs.kind || []).map(() => []);
		(c.roots.pair || []).forEach((p, r) => c.rootsOf[p].push(r));
	}
	const pairs = [], waits = [];
	for (let i = 0; i < (c.pairs.kind || []).length; i++) if (filter.pair(i) && fits(c.pairs, i, true)) pairs.push(i);
	const noOwner = keys.find(k => k === HAND_OFF || k === UNATTRIBUTED || k === READY);
	const owned = keys.some((_, level) => /^(owner|root)-/.test(aspects[level] || "")) && !noOwner;
	if (!owned) for (let i = 0; i < (c.waits.kind || []).length; i++) if (filter.wait(i) && fits(c.waits, i, false)) waits.push(i);
	return {pairs, waits, noOwner};
}

const chainKey = ([stack, group]) => NO_OWNER[stack] ? stack : stack + ":" + group;

function drawChains(filter) {
	const {waits: W, pairs: P} = shownContention(state.sel), {pairs, waits, noOwner} = pairsBelow(state.view.tree, filter);
	const rows = pairs.map(i => ({waiter: [P.ws[i], P.wg[i]], owner: [P.os[i], P.og[i]], time: P.blamed[i], forWork: P.forWork[i]}));
	for (const [key, part] of [[HAND_OFF, W.handOff], [UNATTRIBUTED, W.unattributed]]) {
		if (!noOwner || noOwner === key) for (const i of waits) if (part[i] > 0) rows.push({waiter: [W.ws[i], W.wg[i]], owner: [key, -1], time: part[i], forWork: W.forWork[i]});
	}
	for (const side of ["waiter", "owner"]) if (!rows.some(r => chainKey(r[side]) === chainsShown[side])) chainsShown[side] = null; // it has nothing to do with this selection
	// sums returns the time of each chain of a side, with the chosen one of the other side.
	const sums = (side, other) => {
		const map = new Map();
		for (const r of rows) {
			const key = chainKey(r[side]), [stack, group] = r[side], e = map.get(key) || {key, stack, group, waited: 0, forWork: 0, ready: 0};
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
	const P = shownContention(state.sel).pairs, parts = new Map();
	const put = (what, t) => { if (t > 0) parts.set(what, (parts.get(what) || 0) + t); };
	for (const i of pairs) {
		put("ran", P.running[i]);
		put("ready to run", P.runnable[i]);
		put("not known", P.unknown[i]);
		for (const [k, t] of P.blocked[i]) put("blocked: " + D.contention.kinds[k], t);
	}
	const rows = [...parts].sort((a, b) => b[1] - a[1]), total = rows.reduce((t, r) => t + r[1], 0), known = rows.some(([what]) => what !== "not known");
	fill(byID("activity"), known ? [h("h4", null, "what the owners did"), barTable("what owners did", rows, total)] : null);
}

const NO_OWNER = {[HAND_OFF]: "on its way to the next owner", [UNATTRIBUTED]: "not known"};

function chainItem(side, e, total) {
	const c = D.contention, key = e.key, chain = c.stacks[e.stack], on = chainsShown[side] === key;
	const group = c.partyOf[e.group], frames = chain ? chain.f : [];
	return h("li" + (on ? ".on" : ""), null, h("button.chain", {type: "button", "aria-pressed": String(on), onclick: () => {
		chainsShown[side] = on ? null : key;
		drawContention();
	}}, h("span.chain-head", null, h("span.chain-bar", {style: {width: 100 * e.waited / Math.max(1, total) + "%"}, "aria-hidden": "true"}),
		h("b", null, duration(e.waited)), " ", group >= 0 ? [swatch(D.groups[group].color), h("bdi", null, groupTitle(group))] : NO_OWNER[e.stack] || UNKNOWN)),
	frames.length ? h("ol.frames", null, frames.slice(0, on ? 64 : 5).map(([f, file, line]) => h("li", null, h("bdi.name", {title: show(`${c.funcs[f]} ${c.files[file]}:${line}`, 1000)}, show(c.short[f], 100)),
		c.files[file] ? h("span.muted", null, " " + show(c.files[file].split(/[\\/]/).pop(), 60) + ":" + line) : null)),
		frames.length > 5 && !on ? h("li.muted", null, `… ${frames.length - 5} more`) : null) : NO_OWNER[e.stack] ? null : h("p.muted", null, "call chain not known"));
}
