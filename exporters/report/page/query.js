// The selection as a filter in the language, and the questions that several charts ask.

// groupTests names groups in the language; two groups of one name differ by their kind.
function groupTests(groups) {
	const plain = [], mixed = [];
	for (const g of groups) {
		const {name, kind} = D.groups[g];
		if (D.groups.filter(o => o.name === name).length > 1) mixed.push(`group = ${JSON.stringify(name)} && kind = ${kind}`);
		else plain.push(JSON.stringify(name));
	}
	return [plain.length ? `group in (${plain.join(", ")})` : "", ...mixed].filter(Boolean).join(" || ");
}

// filterText writes a selection as a filter. Locks and tasks are no property of a quantum: they filter other sections.
function filterText(sel) {
	const parts = [];
	if (sel.groups.length) parts.push(groupTests(sel.groups));
	if (sel.goroutines.length) parts.push(`goroutine in (${sel.goroutines.join(", ")})`);
	if (sel.procs.length) parts.push(`proc in (${sel.procs.join(", ")})`);
	if (sel.threads.length) parts.push(`thread in (${sel.threads.join(", ")})`);
	if (sel.ended.length) parts.push(`ended in (${sel.ended.join(", ")})`);
	if (sel.time) parts.push(`during(${sel.time[0]}ns, ${sel.time[1]}ns)`);
	parts.push(...sel.where);
	return parts.length === 1 ? parts[0] : parts.map(p => `(${p})`).join(" && ");
}

// latest makes of an asynchronous function one whose overtaken results are dropped.
function latest(f) {
	let turn = 0;
	return async (...args) => {
		const mine = ++turn;
		return f(() => mine === turn, ...args);
	};
}
