// Formatting of numbers and names, after Go's internal/format.

const UNITS = [["h", 3600e9, 6e13], ["min", 60e9, 1e12], ["s", 1e9, 1e9], ["ms", 1e6, 1e6], ["µs", 1e3, 1e3], ["ns", 1, 0]];

function significant(x) {
	const decimals = x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
	const t = x.toFixed(decimals);
	return t.includes(".") ? t.replace(/\.?0+$/, "") : t;
}

// duration formats nanoseconds with three significant digits: "640 ms".
function duration(ns) {
	if (!Number.isFinite(ns)) return "–";
	if (ns === 0) return "0 s";
	if (ns < 0) return "−" + duration(-ns);
	if (ns >= 1) ns = Number(ns.toPrecision(3));
	for (const [name, size, least] of UNITS) if (ns >= least) return significant(ns / size) + " " + name;
	return "0 s";
}

// percent formats a part of a whole. It returns "0%" for 0 only.
function percent(part, whole) {
	if (!(whole > 0)) return "–";
	const p = Math.round(100 * part / whole);
	if (part > 0 && p < 1) return "<1%";
	if (part < whole && p >= 100) return ">99%";
	return p + "%";
}

// count formats a whole number with commas.
const count = n => Number.isFinite(n) ? Math.round(n).toLocaleString("en-US") : "–";

const plural = (n, one, many) => n === 1 ? "1 " + one : count(n) + " " + many;

// quantity formats a number with three digits and a letter: "2.11k".
function quantity(v) {
	if (!Number.isFinite(v)) return "–";
	if (v < 0) return "−" + quantity(-v);
	if (v > 0 && v < 0.01) return v.toExponential(1);
	const letters = ["", "k", "M", "G", "T", "P", "E"];
	let i = 0;
	for (; i < letters.length - 1 && v >= 999.5; i++) v /= 1000;
	return significant(v) + letters[i];
}

// two formats a number with two decimals, rounding half to even as Go does.
function two(v) {
	if (!Number.isFinite(v)) return "–";
	const between = v * 8 % 1 === 0 && v * 4 % 1 !== 0, n = Math.floor(v * 100);
	return (between ? (n + Math.abs(n % 2)) / 100 : v).toFixed(2).replace("-", "−");
}

// measure formats a value of a metric: a duration if the unit is ns, otherwise a number.
function measure(v, unit) {
	if (!Number.isFinite(v)) return "–";
	if (unit === "ns") return duration(v);
	if (unit === "bytes") return quantity(v).replace(/[a-zA-Z]?$/, " $&B");
	if (Number.isInteger(v) && Math.abs(v) < 1e6) return count(v);
	return Math.abs(v) >= 1000 ? quantity(v) : String(Number(v.toPrecision(4))).replace("-", "−");
}

// clean makes recorded text safe to show on one line: characters that control, reorder or hide text become U+FFFD.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
function clean(text) {
	text = String(text);
	return /^[ -~]*$/.test(text) ? text : text.replace(/[\t\n\r]/g, " ").replace(HIDDEN, "\ufffd");
}

// show returns a clean name or sentence, shortened in its middle if it is very long.
function show(text, most = 160) {
	text = clean(text);
	if (text.trim() === "") return "(no name)";
	if (text.length <= most) return text;
	const chars = Array.from(text);
	if (chars.length <= most) return text;
	const head = Math.ceil(most * 0.6);
	return chars.slice(0, head).join("") + "…" + chars.slice(chars.length - (most - head - 1)).join("");
}

// name returns an element with a name, isolated in its direction, and the full name as tooltip.
function name(full, short) {
	const text = show(short === undefined ? full : short, 120);
	return h("bdi.name", {title: show(full, 1000)}, text);
}

// compareText orders texts as Go does, except for some rare characters.
const compareText = (a, b) => a < b ? -1 : a > b ? 1 : 0;

// niceStep returns a round step that divides a range into about n parts.
function niceStep(range, n) {
	if (!(range > 0)) return 1;
	const raw = range / n, ten = Math.pow(10, Math.floor(Math.log10(raw)));
	for (const f of [1, 2, 2.5, 5, 10]) if (f * ten >= raw * 0.999) return f * ten;
	return 10 * ten;
}

// stepsIn returns the multiples of a step from lo to hi; none if the step is too small for floating-point numbers.
function stepsIn(lo, hi, step) {
	const first = Math.ceil(lo / step), n = Math.floor(hi / step + 1e-6) - first + 1;
	return n > 0 && n < 10000 && first + 1 > first ? Array.from({length: n}, (_, i) => (first + i) * step) : [];
}

// timeScale returns the unit for an axis of times up to ns.
function timeScale(ns) {
	for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns >= 2 * size) return {unit, size};
	return {unit: "ns", size: 1};
}

// trim formats the label of a tick without trailing zeros.
const tick = v => Math.abs(v) >= 1e6 ? quantity(v) : Number(v.toPrecision(6)).toLocaleString("en-US");
