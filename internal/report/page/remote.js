// The engine of a served page: every query is a request in the form of Go's query.Query, with the selection as a filter, and the
// response is a query.Answer. The caller drops answers to older selections.

let engine = null;

class RemoteEngine {
	// overtake cancels the requests for older selections.
	overtake() {
		if (this.asking) this.asking.abort();
		this.asking = new AbortController();
	}

	async ask(path, body) {
		const response = await fetch(path, {signal: this.asking && this.asking.signal, method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), cache: "no-store"});
		if (response.ok) return response;
		const trouble = await response.json().catch(() => ({})); // else the status has to do
		throw Object.assign(new Error(trouble.error || response.status + " " + response.statusText), {part: trouble.part});
	}

	async answer(sel, q) { return (await this.ask("api/query", {filter: filterText(sel), ...q})).json(); }

	// points requests at most as many points as can be drawn singly, in a binary form: see Go's points.go.
	async points(sel, x, y, most) {
		const bytes = await (await this.ask("api/points", {filter: filterText(sel), x, y, most})).arrayBuffer();
		const n = new DataView(bytes).getUint32(0, true);
		if (n === 0xffffffff) return null;
		let at = 8;
		const take = Kind => {
			const a = new Kind(bytes, at, n);
			at += a.byteLength;
			return a;
		};
		const out = {x: take(Float64Array), y: take(Float64Array), begin: take(Float64Array), goroutine: take(Float64Array)};
		return {...out, row: take(Uint32Array), group: take(Int32Array)};
	}
}

// groupTests returns a condition for groups. Groups of the same name differ in their kind.
function groupTests(groups) {
	const plain = [], mixed = [];
	for (const g of groups) {
		const {name, kind} = D.groups[g];
		if (D.groups.filter(o => o.name === name).length > 1) mixed.push(`group = ${JSON.stringify(name)} && kind = ${kind}`);
		else plain.push(JSON.stringify(name));
	}
	return [plain.length ? `group in (${plain.join(", ")})` : "", ...mixed].filter(Boolean).join(" || ");
}

// filterText returns a selection as a filter. Locks and tasks are no properties of a quantum: they filter other sections.
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
