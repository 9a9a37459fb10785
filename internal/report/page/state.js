// The state of the page: the selection and the view. It is in the fragment of the address, so that a bookmark or a copied address
// shows the same.

// A selection filters all sections. An empty list, or null, means no filter.
//   groups     numbers of groups
//   goroutines their ids
//   time       [from, to] in nanoseconds
//   locks      names of locks
//   tasks      names of classes
//   procs      numbers of processors
//   threads    ids of threads
//   ended      how quanta ended: "preempted", "blocked"
//   where      filters in the language of Go's internal/query, such as "instr / cycles < 1", "first(5, gc)": for a served page
const emptySelection = () => ({groups: [], goroutines: [], time: null, locks: [], tasks: [], procs: [], threads: [], ended: [], where: []});

const defaultView = () => ({window: -1, by: null, x: "", y: "", color: "", lanes: "goroutine", table: "group", log: "", off: [], tree: ""});

const state = {sel: emptySelection(), view: defaultView()};

// select changes a part of the selection.
function select(patch) {
	state.sel = {...state.sel, ...patch};
	writeAddress();
	drawAll("sel");
}

// look changes the view.
function look(patch) {
	state.view = {...state.view, ...patch};
	writeAddress();
	drawAll("view");
}

// toggle adds a value to a list of the selection, or removes it. Without more, the value replaces the list.
function toggle(key, value, more) {
	const list = state.sel[key], has = list.includes(value);
	if (more) select({[key]: has ? list.filter(v => v !== value) : [...list, value]});
	else select({[key]: has && list.length === 1 ? [] : [value]});
}

// The address.

const LISTS = {group: "groups", goroutine: "goroutines", lock: "locks", task: "tasks", proc: "procs", thread: "threads", ended: "ended", where: "where"};
const NUMBERS = new Set(["goroutines", "procs", "threads"]);

// selectionText returns a selection as parameters of an address.
function selectionText(sel) {
	const p = new URLSearchParams();
	for (const [key, list] of Object.entries(LISTS)) {
		for (const v of sel[list]) p.append(key, list === "groups" ? groupKey(v) : v);
	}
	if (sel.time) p.set("time", sel.time.map(Math.round).join("-"));
	return p.toString();
}

// A group is identified by its name, and by its number if several have that name.
const groupKey = i => D.groups.findIndex(g => g.name === D.groups[i].name) === i ? D.groups[i].name : i + ":" + D.groups[i].name;

function groupOf(key) {
	const m = /^(\d+):([^]*)$/.exec(key);
	return byName.get(key) ?? (m && D.groups[m[1]] && D.groups[m[1]].name === m[2] ? Number(m[1]) : -1);
}

function parseSelection(p) {
	const sel = emptySelection();
	for (const [key, list] of Object.entries(LISTS)) {
		for (const text of p.getAll(key)) {
			const v = list === "groups" ? groupOf(text) : NUMBERS.has(list) ? Number(text) : text;
			if (v === -1 && list === "groups" || Number.isNaN(v)) continue; // of another recording
			sel[list].push(v);
		}
	}
	const time = /^(\d+)-(\d+)$/.exec(p.get("time") || "");
	if (time && Number(time[1]) < Number(time[2])) sel.time = [Number(time[1]), Number(time[2])];
	return sel;
}

const VIEW = ["x", "y", "color", "lanes", "table", "log"];

function writeAddress() {
	const p = new URLSearchParams(selectionText(state.sel)), v = state.view;
	for (const key of VIEW) if (v[key] !== defaultView()[key]) p.set(key, v[key]);
	if (v.window >= 0) p.set("window", v.window);
	if (v.by) p.set("by", v.by.join(","));
	for (const name of v.off) p.append("without", name);
	const text = p.toString();
	try {
		history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
	} catch { /* a browser may refuse to count so fast; the next change writes all of it again */ }
}

function readAddress() {
	const p = new URLSearchParams(location.hash.slice(1));
	state.sel = parseSelection(p);
	const v = defaultView();
	for (const key of VIEW) if (p.get(key)) v[key] = p.get(key);
	const windows = D.bottle ? D.bottle.windows.length : 0;
	const w = Number(p.get("window") ?? -1);
	v.window = Number.isInteger(w) && w < windows ? Math.max(-1, w) : -1;
	if (p.has("by")) v.by = p.get("by").split(",").filter(Boolean);
	v.off = p.getAll("without");
	state.view = v;
}
