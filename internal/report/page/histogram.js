// Histograms of the granularity of tasks, summed over windows. They match Go's granularity.Histogram, with 64 buckets an octave; a
// test compares the two.

// highOf returns the largest value of the bucket with the smallest value low.
function highOf(low) {
	if (low < 128) return low;
	return low + Math.pow(2, Math.floor(Math.log2(low)) - 6) - 1;
}

// addHistograms adds histograms in the form of Go's granularity.Histogram: {min, max, sum, buckets: [[low, count], …]}.
function addHistograms(parts) {
	const counts = new Map(), some = parts.filter(p => p && p.buckets);
	for (const p of some) for (const [low, n] of p.buckets) counts.set(low, (counts.get(low) || 0) + n);
	const buckets = [...counts].sort((a, b) => a[0] - b[0]), sum = list => list.reduce((t, n) => t + n, 0);
	return {count: sum(buckets.map(b => b[1])), min: some.length ? Math.min(...some.map(p => p.min || 0)) : 0, max: Math.max(0, ...some.map(p => p.max || 0)), sum: sum(some.map(p => p.sum)), buckets};
}

// quantileOf returns the value at or below which a part of all values lies.
function quantileOf(h, q) {
	if (!h.count) return 0;
	let rank = Math.ceil(q * h.count);
	if (rank <= 1) return h.min;
	if (rank >= h.count) return h.max;
	for (const [low, n] of h.buckets) {
		if (n >= rank) return Math.min(Math.max(low + (highOf(low) - low) / 2, h.min), h.max);
		rank -= n;
	}
	return h.max;
}

// curveOf returns the cumulative distribution: [value, part].
function curveOf(h) {
	const out = [];
	let below = 0;
	for (const [low, n] of h.buckets) out.push([Math.min(highOf(low), h.max), (below += n) / h.count]);
	if (out.length && out[0][0] > h.min) out.unshift([h.min, 1 / h.count]);
	return out;
}

// granularityOf returns the distribution of the granularity of a class.
const granularityOf = c => D.tasks.byTime ? c.running_ns : c.cycles;

// classIn returns a class with only the tasks that ended in the windows [lo, hi).
function classIn(c, lo, hi) {
	const parts = D.tasks.windows.parts.slice(lo, hi).flatMap(classes => classes.filter(w => w.class === c.class)), add = of => parts.reduce((t, w) => t + of(w), 0), h = addHistograms(parts.map(granularityOf));
	const wall = add(w => w.wall_ns.sum), q = {min: h.min, max: h.max, mean: h.count ? h.sum / h.count : 0, sum: h.sum};
	for (const [key, at] of [["p1", .01], ["p25", .25], ["p50", .5], ["p75", .75], ["p99", .99]]) q[key] = quantileOf(h, at);
	return {...c, partial: true, tasks: add(w => w.tasks), q, curve: curveOf(h), blocked: wall > 0 ? add(w => w.blocked_ns.sum) / wall : null};
}
