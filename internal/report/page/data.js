// The data: one JSON object in the page, compressed. It has the results in the form in which they are saved.

const D = await Promise.resolve().then(() => new Response(new Blob([Uint8Array.from(atob(byID("data").textContent), c => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"))).json()).catch(failed);
const numbers = new Map(D.groups.map((g, i) => [g.kind + " " + g.name, i]));

// addNumbers adds the number of its group to each box. A goroutine's box is named "main.work #12": id is its number, 0 for several.
const addNumbers = boxes => boxes.forEach(b => {
	const [, group, id] = /^([^]*) #(\d+)$/.exec(b.group) || [];
	Object.assign(b, {g: numbers.get(b.kind + " " + b.group) ?? numbers.get(b.kind + " " + group) ?? -1, id: Number(id || 0)});
});
(D.bottle || []).forEach((g, i) => { g.collector = D.collectors[i]; addNumbers(g.boxes); });
addNumbers(D.goroutines);
if (D.bottle) D.bottle = Object.assign(D.bottle[0], {windows: D.bottle.slice(1)});
colorGroups(D.groups, D.bottle);
if (D.counters) D.counters = {funcs: [], markers: [], spans: [], warnings: [], ...D.counters.table, ...D.counters}; // its groups are those of the page
if (D.contention) D.contention = link(D.contention);
D.speedup = D.speedup.map(k => ({...k.stack, ...k}));
if (D.tasks) D.tasks = {...D.tasks.profile, ...D.tasks};

// groupNamed returns the number of the first group with a name, −1 for none.
const byName = new Map(D.groups.map((g, i) => [g.name, i]).reverse());
const groupNamed = name => name ? byName.get(name) ?? -1 : -1;

// groupTitle returns the display name of a group.
const groupTitle = g => D.groups[g] ? show(D.groups[g].short, 120) : "(unknown)";

// swatch returns a small colored square, hidden from screen readers.
const swatch = color => h("span.swatch", {style: {background: color}, "aria-hidden": "true"});

// groupName returns the name of a group with its color, shortened to most characters.
const groupName = (g, most = 120) => h("span.group", null, swatch(D.groups[g].color), name(D.groups[g].name, show(D.groups[g].short, most)));
