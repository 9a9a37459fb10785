// Export of the selection as CSV and JSON. A served page also exports a pprof profile of the quanta.

function exportMenu() {
	const item = (label, forms, f) => h("div.fields", null, h("span", null, label), forms.map(form => h("button", {type: "button", "data-export": label + "." + form, onclick: () => runExport(label, form, f)}, form)));
	return h("details#export", null, h("summary", null, "export"), h("div", null, h("span.muted", null, "of the selection"),
		D.bottle ? item("graph", ["csv", "json"], graphRows) : null,
		D.contention ? item("contention", ["csv", "json"], contentionRows) : null,
		D.tasks ? item("tasks", ["csv", "json"], taskRows) : null,
		D.speedup.length ? item("speed-up", ["csv", "json"], speedupRows) : null,
		D.counters ? item("quanta", D.served ? ["csv", "json", "pprof"] : ["csv", "json"], null) : null,
		h("span#export-note.muted", {role: "status"})));
}

async function runExport(label, form, rows) {
	try {
		const file = `${(clean(D.title).replace(/[^\w.-]+/g, "-").slice(0, 60) || "recording")}-${label}.${form === "pprof" ? "pb.gz" : form}`;
		const blob = label === "quanta" ? await engine.exported(state.sel, form) : form === "csv" ? csvBlob(rows()) : jsonBlob(rows());
		download(blob, file);
		fill(byID("export-note"), `${file}: ${quantity(blob.size)}B`);
	} catch (err) {
		fill(byID("export-note"), "not written: " + err.message);
	}
}

function download(blob, file) {
	const url = URL.createObjectURL(blob);
	const a = h("a", {href: url, download: file});
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// csvField quotes a field if necessary, and prevents spreadsheets from taking a name for a formula.
function csvField(v) {
	if (v === null || v === undefined || typeof v === "number" && !Number.isFinite(v)) return "";
	let t = String(v);
	if (typeof v !== "number" && /^[=+\-@\t\r]/.test(t)) t = "'" + t;
	return /[",\n\r]/.test(t) ? '"' + t.replaceAll('"', '""') + '"' : t;
}

const csvBlob = rows => new Blob([(rows.length ? [Object.keys(rows[0]), ...rows.map(r => Object.values(r))] : []).map(r => r.map(csvField).join(",")).join("\n") + "\n"], {type: "text/csv"});
const jsonBlob = rows => new Blob([JSON.stringify(rows, null, 1) + "\n"], {type: "application/json"});

const chosenGroup = g => !state.sel.groups.length || state.sel.groups.includes(g);

function graphRows() {
	return graphAt().boxes.filter(b => chosenGroup(b.g)).map(b => ({
		group: D.groups[b.g].name, kind: D.groups[b.g].kind, goroutines: b.n, share_ns: b.share, running_ns: b.running, parallelism: b.p, runnable_ns: b.runnable || 0,
		blocked_ns: (b.waiting || []).reduce((t, w) => t + w[1], 0), in_c_ns: b.c || 0,
	}));
}

function contentionRows() {
	const c = shownContention(state.sel), f = contentionFilter(state.sel), out = [];
	const common = (R, i) => ({kind: c.kinds[R.kind[i]], lock: c.locks[R.lock[i]].name, class: c.locks[R.lock[i]].class, waiter_group: c.parties[R.wg[i]], waiter_stack: chainText(c, R.ws[i])});
	for (let i = 0; i < (c.pairs.kind || []).length; i++) {
		if (f.pair(i)) out.push({...common(c.pairs, i), owner_group: c.parties[c.pairs.og[i]], owner_stack: chainText(c, c.pairs.os[i]), waits: c.pairs.n[i], wait_ns: c.pairs.blamed[i], ready_ns: "", parks: ""});
	}
	for (let i = 0; i < (c.waits.kind || []).length; i++) {
		if (!f.wait(i)) continue;
		for (const [key, col] of [[HAND_OFF, "handOff"], [UNATTRIBUTED, "unattributed"]]) {
			if (c.waits[col][i] > 0) out.push({...common(c.waits, i), owner_group: key, owner_stack: key, waits: "", wait_ns: c.waits[col][i], ready_ns: "", parks: ""});
		}
		if (c.waits.parks[i] > 0) out.push({...common(c.waits, i), owner_group: READY, owner_stack: READY, waits: c.waits.n[i], wait_ns: 0, ready_ns: c.waits.ready[i], parks: c.waits.parks[i]});
	}
	return out;
}

const taskRows = () => shownClasses().filter(taskFilter(state.sel)).map(c => ({class: c.name, tasks: c.tasks, ...c.q, blocked_share: c.blocked, diagnosis: c.diagnosis, created_at: c.sites.map(t => t.created[0] || "").join("; ")}));

const speedupRows = () => shownStacks().flatMap(k => [{name: "speed-up", words: "speed-up", family: "running", value: k.speedup}, ...partsOf(k)].map(p => ({workers: k.n, label: k.label, part: p.name, words: p.words, family: p.family, value: p.value})));
