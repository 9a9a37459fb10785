// Answers in bins: how many rows fall where, for pictures of more points than can be drawn. See Go's counters.Query.

// axisOf gives the values of an axis: transformed where it is logarithmic, and whether they lie in its range.
function axisOf(t, text, log, range, size) {
	const m = t.metric(text), on = v => log ? (v > 0 ? Math.log10(v) : NaN) : v;
	return {m, log, size, range, on};
}

function answerDensity(t, q, rows) {
	const w = q.width || 200, h = q.y ? q.height || 100 : 1, bins = 1 << 20;
	if (!(w > 0 && h > 0 && w <= bins && h <= bins && w * h <= bins)) throw new Error(`${w} × ${h} bins are not between 1 and a million`);
	const x = axisOf(t, q.x, q.log_x, q.x_range, w), y = q.y ? axisOf(t, q.y, q.log_y, q.y_range, h) : null;
	const axes = y ? [x, y] : [x], known = [], counts = new Array(w * h).fill(0);
	for (const row of rows) if (axes.every(a => a.m.values[row] === a.m.values[row])) known.push(row);
	for (const a of axes) {
		if (a.range) continue;
		let lo = Infinity, hi = -Infinity;
		for (const row of known) {
			const v = a.m.values[row];
			if (a.log && !(v > 0)) continue;
			lo = Math.min(lo, v);
			hi = Math.max(hi, v);
		}
		a.range = lo <= hi ? [lo, hi] : null;
	}
	let outside = 0, most = 0;
	const bin = (a, v) => {
		if (!a.range || v < a.range[0] || v > a.range[1]) return -1;
		const lo = a.on(a.range[0]), hi = a.on(a.range[1]), at = a.on(v);
		if (at !== at) return -1;
		return hi <= lo ? 0 : Math.min(a.size - 1, Math.floor((at - lo) / (hi - lo) * a.size));
	};
	for (const row of known) {
		const bx = bin(x, x.m.values[row]), by = y ? bin(y, y.m.values[row]) : 0;
		if (!(bx >= 0) || !(by >= 0)) { outside++; continue; }
		most = Math.max(most, ++counts[by * w + bx]);
	}
	return {x: x.m.text, y: y ? y.m.text : "", x_unit: x.m.unit, y_unit: y ? y.m.unit : "", x_range: x.range, y_range: y ? y.range : null, width: w, height: h, counts, known: known.length, unknown: rows.length - known.length, outside, most};
}

function answerCorrelation(t, q, rows) {
	atMost(q.metrics, 20);
	const metrics = q.metrics.map(text => t.metric(text)), size = metrics.length;
	const columns = metrics.map(m => Float64Array.from(rows, row => m.values[row])), complete = columns.map(c => c.every(v => v === v));
	const ranks = columns.map((c, i) => q.ranks && complete[i] ? ranksOf(c) : null);
	const matrix = () => Array.from({length: size}, () => new Array(size).fill(null));
	const n = matrix(), linear = matrix(), ranked = q.ranks ? matrix() : null;
	for (let i = 0; i < size; i++) {
		for (let j = i; j < size; j++) {
			const both = complete[i] && complete[j], [x, y] = both ? [columns[i], columns[j]] : bothKnown(columns[i], columns[j]);
			n[i][j] = n[j][i] = x.length;
			linear[i][j] = linear[j][i] = pearson(x, y);
			if (ranked) ranked[i][j] = ranked[j][i] = both ? pearson(ranks[i], ranks[j]) : pearson(ranksOf(x), ranksOf(y));
		}
	}
	return {metrics: metrics.map(m => m.text), n, pearson: linear, ...(ranked ? {spearman: ranked} : {})};
}

// bothKnown keeps the pairs of which both values are known.
function bothKnown(x, y) {
	const a = new Float64Array(x.length), b = new Float64Array(x.length);
	let n = 0;
	for (let i = 0; i < x.length; i++) {
		if (x[i] !== x[i] || y[i] !== y[i]) continue;
		a[n] = x[i];
		b[n++] = y[i];
	}
	return [a.subarray(0, n), b.subarray(0, n)];
}
