// The page: heading, sections, and redrawing after changes.

const MAKE = {bottle: makeBottle, contention: makeContention, tasks: makeTasks, speedup: makeSpeedup, counters: makeCounters};
const TITLES = {bottle: "bottle graph", contention: "contention", tasks: "tasks", speedup: "speed-up", counters: "counters"};

const present = id => id === "speedup" ? D.speedup.length > 0 : !!D[id];

function drawHead() {
	const facts = [D.go, D.procs ? "GOMAXPROCS=" + D.procs : "", D.wall ? duration(D.wall) : "", D.source && D.source !== D.title ? show(D.source, 80) : ""].filter(Boolean);
	fill(byID("top"), h("h1", null, "bottleneck"), h("bdi", null, show(D.title, 100)), h("span.muted", null, facts.join(", ")),
		h("nav", {"aria-label": "sections"}, Object.keys(MAKE).filter(present).map(id => h("a", {href: "#" + id + "-title", onclick: jump(id)}, TITLES[id]))));
}

function missing(id) {
	return section(id, TITLES[id], h("p.missing", null, D.missing[id] || "This part is not in the recording."));
}

// drawAll redraws everything.
function drawAll(what) {
	drawBar();
	if (D.bottle) { drawBottle(); drawBehind(); }
	drawContention();
	drawTasks();
	drawSpeedup();
	if (D.counters) drawCounters(what);
	if (what === "sel") say("selected: " + describe(state.sel));
}

async function start() {
	readAddress();
	drawHead();
	if (D.counters) engine = D.served ? new RemoteEngine() : new PickingEngine(D.counters);
	const main = byID("main");
	add(main, notes(D.warnings, "notes on the recording"));
	if (D.verdict) main.append(makeVerdict(D.verdict));
	for (const id of Object.keys(MAKE)) main.append(present(id) ? MAKE[id]() : missing(id));
	drawAll("start");
	document.querySelector(".skip").addEventListener("click", ev => { // the address is for the state
		ev.preventDefault();
		main.scrollIntoView({block: "start"});
		main.focus({preventScroll: true});
	});
	addEventListener("hashchange", () => { readAddress(); drawAll("sel"); });
	darkQuery.addEventListener("change", () => drawAll("theme"));
	document.documentElement.dataset.ready = "true";
}

start().catch(failed);

function failed(err) {
	byID("main").prepend(h("p.badge", {role: "alert"}, "The page could not be drawn: " + err.message + ". It needs a browser of 2023 or later."));
	console.error(err);
}
