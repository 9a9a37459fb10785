// Statistics, computed in the same order and with the same corrections as in Go's package counters, so that the two agree to
// the last bit.

// Sum is Neumaier's compensated sum.
class Sum {
	constructor() { this.s = this.c = 0; }

	add(v) {
		const t = this.s + v;
		this.c += Math.abs(this.s) >= Math.abs(v) ? (this.s - t) + v : (v - t) + this.s;
		this.s = t;
	}

	get value() { return this.s + this.c; }
}

function sumOf(values) {
	const sum = new Sum();
	for (const v of values) sum.add(v);
	return sum.value;
}

const orNull = v => Number.isFinite(v) ? v : null;

// deviationOf is the standard deviation of a sample; null for less than two.
function deviationOf(values, mean) {
	if (values.length < 2) return null;
	const sum = new Sum();
	for (const v of values) sum.add((v - mean) * (v - mean));
	return orNull(Math.sqrt(sum.value / (values.length - 1)));
}

const QUANTILES = [.01, .05, .25, .5, .75, .95, .99];

// rank is where the quantile q of n sorted values stands.
const rank = (q, n) => Math.max(1, Math.ceil(q * n - 1e-9)) - 1;

// pearson is the correlation of two arrays of known numbers; null where it is not known.
function pearson(x, y) {
	if (x.length < 2) return null;
	const mx = sumOf(x) / x.length, my = sumOf(y) / y.length, xx = new Sum(), xy = new Sum(), yy = new Sum();
	for (let i = 0; i < x.length; i++) {
		const dx = x[i] - mx, dy = y[i] - my;
		xx.add(dx * dx);
		yy.add(dy * dy);
		xy.add(dx * dy);
	}
	const a = Math.sqrt(xx.value), b = Math.sqrt(yy.value);
	if (!(a > 0 && b > 0) || x.every(v => v === x[0]) || y.every(v => v === y[0])) return null;
	return Math.max(-1, Math.min(1, xy.value / a / b));
}

// ranksOf gives each value its rank from 1; those that are equal share the mean of theirs.
function ranksOf(values) {
	const sorted = Float64Array.from(values).sort(), mean = new Map();
	for (let i = 0; i < sorted.length;) {
		let j = i;
		while (j < sorted.length && sorted[j] === sorted[i]) j++;
		mean.set(sorted[i], (i + 1 + j) / 2);
		i = j;
	}
	return Float64Array.from(values, v => mean.get(v));
}
