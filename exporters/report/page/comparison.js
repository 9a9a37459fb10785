// Which metrics tell two sets apart: means compared by Welch's t-test, as Go's counters.Explorer.Compare does it.

const COMPARISON_NOTE = "Of many metrics compared, one in twenty differs at 95 % confidence by chance; and quanta that follow each other are rarely independent, so the intervals are too narrow. Take a difference for a hint, and confirm it in another recording.";

// candidatesOf are the metrics that a search tries by itself.
function candidatesOf(form) {
	const out = ["duration", "gap"];
	for (const n of namesOf(form)) {
		if (n.builtin) continue;
		out.push(n.name);
		if (!n.level) out.push(n.name + " / duration");
	}
	return out.slice(0, 200);
}

function answerComparison(t, q, a, b) {
	const metrics = q.metrics && q.metrics.length ? q.metrics : candidatesOf(t.form);
	if (metrics.length > 200) throw new Error("more than 200 metrics");
	const rows = metrics.map(text => {
		const m = t.metric(text);
		return {metric: m.text, unit: m.unit, ...compareMeans(knownOf(m.values, a), knownOf(m.values, b))};
	});
	const size = r => r.standardized === null ? -1 : Math.abs(r.standardized);
	rows.sort((x, y) => size(y) - size(x));
	return {candidates: metrics.length, rows: rows.slice(0, q.limit > 0 ? q.limit : 20), note: COMPARISON_NOTE};
}

const meanOf = v => v.length ? finiteOr(sumOf(v) / v.length) : NaN;

function varianceOf(values, mean) {
	if (values.length < 2) return NaN;
	const sum = new Sum();
	for (const v of values) sum.add((v - mean) * (v - mean));
	return finiteOr(sum.value / (values.length - 1));
}

function compareMeans(x, y) {
	const mx = meanOf(x), my = meanOf(y), vx = varianceOf(x, mx), vy = varianceOf(y, my);
	const d = mx - my, ex = vx / x.length, ey = vy / y.length, e = Math.sqrt(ex + ey);
	const df = finiteOr((ex + ey) * (ex + ey) / (ex * ex / (x.length - 1) + ey * ey / (y.length - 1)));
	const half = finiteOr(studentQuantile(df) * e);
	return {a: {known: x.length, mean: orNull(mx), deviation: orNull(Math.sqrt(vx))}, b: {known: y.length, mean: orNull(my), deviation: orNull(Math.sqrt(vy))},
		difference: orNull(d), standardized: orNull(d / Math.sqrt((vx + vy) / 2)), t: orNull(d / e), df: orNull(df), low: orNull(d - half), high: orNull(d + half)};
}

// studentQuantile is the 97.5 % quantile of Student's distribution, expanded at that of the normal one (Abramowitz and Stegun, 26.7.5).
function studentQuantile(df) {
	if (!(df >= 3)) return NaN;
	return 1.959963984540054 + (2.3722712303 + (2.8224986157 + (2.5558496795 + 1.5895340534 / df) / df) / df) / df;
}
