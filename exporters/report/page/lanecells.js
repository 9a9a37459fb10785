// When goroutines, processors, threads or groups ran, in as many pixels as a timeline has, as Go's counters.Lanes computes it. A cell is
// [x, width, busy, quanta, row, value].

function answerLanes(t, q, rows) {
	if (!["goroutine", "proc", "thread", "group"].includes(q.by)) throw new Error(`no lanes by ${quoteText(q.by)}: there are goroutine, proc, thread and group`);
	const m = q.metric ? t.metric(q.metric) : null, keys = keysOf(t, q.by), width = q.width || 1000, limit = q.limit || 100;
	if (limit < 0 || limit > 1000 || width < 0 || width > 10000) throw new Error(`${limit} lanes of ${width} pixels are not between 1 and 1000 of 10000`);
	const [from, to] = windowOf(t, q.from, q.to), sums = new Map(), order = [];
	const part = row => {
		const b = t.begin[row], e = t.end[row];
		return b >= to || e <= from && (b < from || e < from) ? null : [Math.max(b, from), Math.min(e, to)];
	};
	for (const row of rows) {
		const p = part(row);
		if (!p) continue;
		const k = keys.of(row);
		let s = sums.get(k);
		if (!s) sums.set(k, s = {k, busy: 0, quanta: 0});
		s.busy += p[1] - p[0];
		s.quanta++;
	}
	for (const k of firstKeys(t, keys)) if (sums.has(k)) order.push(sums.get(k));
	order.sort((a, b) => b.busy - a.busy);
	const shown = order.slice(0, limit), rest = order.slice(limit), group = laneGroups(t, q.by);
	if (q.by !== "group") shown.sort((a, b) => compareText(group(a.k), group(b.k)) || compareNumbers(keys.number(a.k), keys.number(b.k)));
	for (const s of shown) s.pixels = new Map();
	for (const row of rows) {
		const p = part(row), s = p && sums.get(keys.of(row));
		if (s && s.pixels) drawPixels(s.pixels, row, p[0] - from, p[1] - from, to - from, width, m ? m.values[row] : NaN);
	}
	const lanes = shown.map(s => {
		const number = keys.number ? keys.number(s.k) : null;
		return {key: keys.text(s.k), ...(number === null ? {} : {number}), ...(group(s.k) ? {group: group(s.k)} : {}), busy: s.busy, quanta: s.quanta, cells: cellsOf(s.pixels)};
	});
	return {by: q.by, metric: m ? m.text : "", unit: m ? m.unit : "", from, to, width, lanes, omitted: rest.length, omitted_busy: rest.reduce((b, s) => b + s.busy, 0)};
}

// firstKeys are the keys in the order in which Go numbers them: by first row, but for groups by their own numbers.
function firstKeys(t, keys) {
	const seen = new Set();
	if (!keys.number) for (let i = 0; i < t.groupForms.length; i++) seen.add(i);
	else for (let i = 0; i < t.rows; i++) seen.add(keys.of(i));
	return seen;
}

// laneGroups gives the group of a goroutine; "" for what is no goroutine.
function laneGroups(t, by) {
	if (by !== "goroutine") return () => "";
	t.mainGroups = t.mainGroups || mainGroups(t);
	return k => t.groupForms[t.mainGroups.get(k)].name;
}

// mainGroups are the groups in which goroutines ran for longest, those of the application before others, as Go's Explorer chooses them.
function mainGroups(t) {
	const ran = new Map(), best = new Map(), own = g => t.groupForms[g].kind === "application";
	for (let i = 0; i < t.rows; i++) {
		const g = t.goroutine[i];
		if (!ran.has(g)) ran.set(g, new Map());
		ran.get(g).set(t.group[i], (ran.get(g).get(t.group[i]) || 0) + t.duration[i]);
	}
	for (const [g, times] of ran) best.set(g, [...times].sort((a, b) => own(b[0]) - own(a[0]) || b[1] - a[1] || a[0] - b[0])[0][0]);
	return best;
}

// compareNumbers puts what is not known last.
const compareNumbers = (a, b) => a === null || b === null ? (a === null) - (b === null) : a - b;

function windowOf(t, from, to) {
	if (from || to) {
		if (!(to > from)) throw new Error(`no time is between ${from || 0} and ${to || 0}`);
		return [from || 0, to];
	}
	const n = t.rows;
	return n ? [Math.min(0, t.begin[0]), Math.max(t.form.wall, 1, t.begin[n - 1] + 1)] : [0, Math.max(t.form.wall, 1)];
}

function drawPixels(pixels, row, b, e, time, width, value) {
	const first = Math.min(width - 1, Math.trunc(b / time * width)), last = Math.max(first, Math.min(width - 1, Math.ceil(e / time * width) - 1));
	for (let x = first; x <= last; x++) {
		const overlap = Math.max(0, Math.min(e, time * (x + 1) / width) - Math.max(b, time * x / width));
		let p = pixels.get(x);
		if (!p) pixels.set(x, p = {busy: 0, weight: 0, weighted: 0, n: 0});
		p.n++;
		p.row = row;
		p.value = value;
		p.busy += overlap;
		if (value === value) {
			p.weight += overlap;
			p.weighted += value * overlap;
		}
	}
}

// roundHalf rounds halves away from zero, as Go does.
const roundHalf = v => Math.sign(v) * Math.round(Math.abs(v));

function cellsOf(pixels) {
	const out = [];
	let busy = 0;
	for (const [x, p] of [...pixels].sort((a, b) => a[0] - b[0])) {
		const last = out[out.length - 1], row = p.n === 1 ? p.row : null;
		if (last && row !== null && last[4] === row) {
			busy += p.busy;
			last[1]++;
			last[2] = roundHalf(busy);
			continue;
		}
		busy = p.busy;
		out.push([x, 1, roundHalf(busy), p.n, row, orNull(p.n === 1 ? p.value : p.weighted / p.weight)]);
	}
	return out;
}
