// Filters: a byte for each row, 1 where it is in the set. As Go's package counters: a test of something that is not known does
// not hold, and "!" is the complement.

const RELATIONS = {"=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b};

class Sets {
	constructor(table, text) {
		this.t = table;
		this.text = text;
	}

	fail(n, message) { throw new SyntaxTrouble(this.text, n.pos, message); }

	where(f) {
		const out = new Uint8Array(this.t.rows);
		for (let i = 0; i < out.length; i++) out[i] = f(i) ? 1 : 0;
		return out;
	}

	number(n) { return this.t.evaluate(n, (m, message) => this.fail(m, message)); }

	set(n) {
		switch (n.op) {
		case "all": return this.where(() => true);
		case "none": return this.where(() => false);
		case "not": { const a = this.set(n.kids[0]); return this.where(i => !a[i]); }
		case "and": { const a = this.set(n.kids[0]), b = this.set(n.kids[1]); return this.where(i => a[i] && b[i]); }
		case "or": { const a = this.set(n.kids[0]), b = this.set(n.kids[1]); return this.where(i => a[i] || b[i]); }
		case "compare": return this.compare(n);
		case "in": return this.numbersIn(n);
		case "text": case "textIn": return this.textual(n);
		case "known": return this.known(n);
		case "during": return this.during(n);
		case "between": return this.between(n);
		}
		return this.ranked(n);
	}

	compare(n) {
		const a = this.number(n.kids[0]), b = this.number(n.kids[1]);
		if (!together(a.unit, b.unit)) this.fail(n, `the units differ: ${unitName(a.unit)} and ${unitName(b.unit)}`);
		const x = a.values, y = b.values, holds = RELATIONS[n.word];
		return this.where(i => x[i] === x[i] && y[i] === y[i] && holds(x[i], y[i]));
	}

	numbersIn(n) {
		const a = this.number(n.kids[0]), x = a.values;
		const end = e => {
			const minus = e.op === "neg", num = minus ? e.kids[0] : e;
			const u = num.word ? unitOf(SUFFIXES[num.word][1]) : unit(0, 0, true);
			if (!together(a.unit, u)) this.fail(e, `the units differ: ${unitName(a.unit)} and ${unitName(u)}`);
			return minus ? -num.num : num.num;
		};
		const list = n.list.map(([lo, hi]) => [end(lo), end(hi)]);
		return this.where(i => list.some(([lo, hi]) => x[i] >= lo && x[i] <= hi));
	}

	// textual evaluates a test of text once for each text there is.
	textual(n) {
		const {t} = this, re = n.word === "=~" || n.word === "!~" ? compileRegexp(n.texts[0]) : null;
		const negative = n.word === "!=" || n.word === "!~";
		const holds = text => (re ? re.test(text) : n.texts.includes(text)) !== negative;
		const by = (texts, column, known) => {
			const yes = texts.map(holds);
			return this.where(i => (!known || known(i)) && yes[column[i]]);
		};
		switch (n.field) {
		case "group": return by(t.groupForms.map(g => g.name), t.group);
		case "kind": return by(t.groupForms.map(g => g.kind), t.group);
		case "func": return by(t.form.funcs, t.func, i => t.func[i] !== 0);
		case "ended": return by(t.form.endings, t.ending);
		}
		return by(t.form.waits, t.wait);
	}

	known(n) {
		const {t} = this;
		if (n.field) return this.where(i => n.field !== "func" || t.func[i] !== 0);
		const v = this.number(n.kids[0]).values;
		return this.where(i => v[i] === v[i]);
	}

	spans(n) {
		const out = this.t.form.spans.filter(p => p.name === n.span).sort((a, b) => a.begin - b.begin);
		if (!out.length && n.span !== GC_SPAN) this.fail(n, `this recording has no span ${quoteText(n.span)}`);
		return out;
	}

	during(n) {
		const {begin, end} = this.t;
		let spans = n.span ? this.spans(n).map(p => [p.begin, p.end]) : null;
		if (!spans) {
			const at = n.kids.map(k => {
				const v = this.number(k);
				if (!together(v.unit, unit(1, 0))) this.fail(k, `expected a time, not ${unitName(v.unit)}`);
				return v.values.length ? v.values[0] : 0;
			});
			spans = [at];
		}
		// Spans may overlap: of those that begin before a quantum ends, the latest end counts.
		const latest = [];
		spans.forEach(([, b], i) => latest.push(Math.max(b, i ? latest[i - 1] : -Infinity)));
		return this.where(i => {
			let lo = 0, hi = spans.length;
			while (lo < hi) {
				const mid = (lo + hi) >> 1;
				if (spans[mid][0] < end[i] || spans[mid][0] <= begin[i]) lo = mid + 1;
				else hi = mid;
			}
			return lo > 0 && latest[lo - 1] > begin[i];
		});
	}

	// eachKey tells the rows of one goroutine, group, processor or thread from the others.
	eachKey(each) {
		const column = {goroutine: this.t.goroutine, group: this.t.group, proc: this.t.proc, thread: this.t.thread}[each];
		return column ? i => column[i] : () => 0;
	}

	// ranked finds the first n quanta after each span, or the last before it.
	ranked(n) {
		const {begin, end, rows} = this.t, spans = this.spans(n), key = this.eachKey(n.each), out = new Uint8Array(rows);
		const count = (from, to, step, fits) => {
			const seen = new Map();
			for (let i = from; i !== to; i += step) {
				if (!fits(i)) continue;
				const k = key(i), c = (seen.get(k) || 0) + 1;
				seen.set(k, c);
				if (c <= n.count) out[i] = 1;
				else if (!n.each) break;
			}
		};
		const first = v => { // the first row that begins at v or later
			let lo = 0, hi = rows;
			while (lo < hi) {
				const mid = (lo + hi) >> 1;
				if (begin[mid] < v) lo = mid + 1;
				else hi = mid;
			}
			return lo;
		};
		spans.forEach((p, i) => {
			if (n.op === "first") count(first(p.end), i + 1 < spans.length ? Math.max(first(p.end), first(spans[i + 1].begin)) : rows, 1, () => true);
			else {
				const from = i ? first(spans[i - 1].end) : 0, to = Math.max(from, first(p.begin + 1));
				count(to - 1, from - 1, -1, row => end[row] <= p.begin);
			}
		});
		return out;
	}

	between(n) {
		const {t} = this, marks = [...t.form.markers].sort((a, b) => a.time - b.time), out = new Uint8Array(t.rows), ids = t.form.goroutines;
		for (const text of n.texts) if (!marks.some(m => m.text === text)) this.fail(n, `this recording has no marker ${quoteText(text)}`);
		marks.forEach((m, i) => {
			if (m.text !== n.texts[0]) return;
			const later = marks.find((o, j) => j > i && o.text === n.texts[1] && (!n.each || o.goroutine === m.goroutine));
			const to = later ? later.time : Infinity;
			for (let row = 0; row < t.rows && t.begin[row] < to; row++) {
				if (t.begin[row] >= m.time && (!n.each || ids[t.goroutine[row]] === m.goroutine)) out[row] = 1;
			}
		});
		return out;
	}
}
