// The grammar of filters and metrics, by recursive descent, as in Go's package counters (parse.go, parsecall.go).

const GC_SPAN = "GC concurrent mark phase";
const FIELDS = ["group", "kind", "func", "ended", "wait"];
const EACH = ["goroutine", "group", "proc", "thread"];
const CALLS = ["first", "last", "during", "between", "known", "min", "max", "abs", "change"];
const SETS = new Set(["or", "and", "not", "compare", "in", "text", "textIn", "all", "none", "first", "last", "during", "between", "known"]);

// fieldValues are the values of a field that has few; null of others.
const fieldValues = field => ({kind: ["application", "gc", "runtime", "tracer"], ended: D.counters && D.counters.endings, wait: D.counters && D.counters.waits})[field] || null;

class Parser extends Lexer {
	operation(op, pos, ...kids) {
		if (++this.operators > MAX_OPERATORS) this.failAt(pos, "more than 500 operations");
		return {op, pos, kids};
	}

	nested(rule) {
		if (++this.depth > MAX_NESTING) this.fail("nested more than 64 deep");
		const n = rule.call(this);
		this.depth--;
		return n;
	}

	wantSet(n) {
		if (!SETS.has(n.op)) this.failAt(n.pos, "this is a number, not a filter: compare it with something");
		return n;
	}

	wantNumber(n) {
		if (SETS.has(n.op)) this.failAt(n.pos, "this is a filter, not a number");
		return n;
	}

	filter() { return this.wantSet(this.or()); }

	metric() { return this.wantNumber(this.or()); }

	// chain parses operands of the rule, joined by signs of infix operations, from the left.
	chain(rule, signs, want) {
		let n = rule.call(this);
		for (;;) {
			const pos = this.pos(), sign = Object.keys(signs).find(t => this.take(t));
			if (!sign) return n;
			n = this.operation(signs[sign], pos, want.call(this, n), want.call(this, rule.call(this)));
		}
	}

	or() { return this.chain(this.and, {"||": "or"}, this.wantSet); }

	and() { return this.chain(this.not, {"&&": "and"}, this.wantSet); }

	not() {
		const pos = this.pos();
		return this.take("!") ? this.operation("not", pos, this.wantSet(this.nested(this.not))) : this.test();
	}

	relation() {
		for (const r of ["==", "=~", "=", "!=", "!~", "<=", "<", ">=", ">"]) if (this.take(r)) return r === "==" ? "=" : r;
		return "";
	}

	test() {
		const pos = this.pos(), field = this.peekName();
		if (FIELDS.includes(field)) {
			this.name();
			return this.textTest(field, pos);
		}
		const n = this.sum();
		if (SETS.has(n.op)) return n;
		const at = this.pos(), r = this.relation();
		if (r === "=~" || r === "!~") this.failAt(at, "a regular expression needs text on its left: group, kind, func, ended or wait");
		if (r) return Object.assign(this.operation("compare", pos, n, this.wantNumber(this.sum())), {word: r});
		if (this.peekName() === "in") {
			this.name();
			return Object.assign(this.operation("in", pos, n), {list: this.intervals()});
		}
		return n;
	}

	textTest(field, pos) {
		if (this.peekName() === "in") {
			this.name();
			const n = Object.assign(this.operation("textIn", pos), {field, texts: []});
			this.must("(");
			do n.texts.push(this.value(field, "")); while (this.take(","));
			this.must(")");
			return n;
		}
		const at = this.pos(), n = this.operation("text", pos);
		n.field = field;
		n.word = this.relation();
		if (!["=", "!=", "=~", "!~"].includes(n.word)) this.failAt(at, field + " is text: test it with =, !=, =~, !~ or in");
		n.texts = [this.value(field, n.word)];
		return n;
	}

	value(field, relation) {
		this.item();
		const pos = this.pos(), text = this.quoted() ?? this.bareWord();
		if (text === "" && this.text[pos] !== '"') this.failAt(pos, "expected a string or a word, not " + this.next());
		if (relation === "=~" || relation === "!~") {
			try {
				compileRegexp(text);
			} catch (err) {
				this.failAt(pos, err.message);
			}
			return text;
		}
		const values = fieldValues(field);
		if (values && !values.includes(text)) this.failAt(pos, `${field} is never ${quoteText(text)}: there are ${values.join(", ")}`);
		return text;
	}

	item() { if (++this.items > MAX_ITEMS) this.fail("more than 4000 values"); }

	intervals() {
		if (!this.take("(")) return [this.interval()];
		const list = [];
		do list.push(this.interval()); while (this.take(","));
		this.must(")");
		return list;
	}

	interval() {
		this.item();
		const low = this.signed();
		return this.take("..") ? [low, this.signed()] : [low, low];
	}

	signed() {
		const pos = this.pos(), minus = this.take("-"), n = this.number();
		if (!n) this.fail("expected a number, not " + this.next());
		return minus ? {op: "neg", pos, kids: [n]} : n;
	}

	sum() { return this.chain(this.product, {"+": "add", "-": "sub"}, this.wantNumber); }

	product() { return this.chain(this.unary, {"*": "mul", "/": "div"}, this.wantNumber); }

	unary() {
		const pos = this.pos();
		if (this.take("-")) return this.operation("neg", pos, this.wantNumber(this.nested(this.unary)));
		if (this.take("(")) {
			const n = this.nested(this.or);
			this.must(")");
			return n;
		}
		const num = this.number();
		if (num) return num;
		const text = this.quoted();
		if (text !== null) return {op: "quoted", pos, word: text, kids: []};
		const name = this.name();
		if (!name) this.failAt(pos, "expected a name, a number or a test, not " + this.next());
		if (FIELDS.includes(name)) this.failAt(pos, name + " is text, not a number");
		if (name === "all" || name === "none") return {op: name, pos, kids: []};
		if (name === "in") this.failAt(pos, 'expected a number before "in"');
		if (CALLS.includes(name)) return this.call(name, pos);
		return {op: "name", pos, word: name, kids: []};
	}

	call(op, pos) {
		const n = this.operation(op, pos);
		this.must("(");
		if (op === "first" || op === "last") this.ranked(n);
		else if (op === "during") this.during(n);
		else if (op === "between") this.between(n);
		else if (op === "known" && FIELDS.includes(this.peekName())) n.field = this.name();
		else {
			n.kids.push(this.wantNumber(this.nested(this.or)));
			while ((op === "min" || op === "max") && this.take(",")) {
				this.item();
				n.kids.push(this.wantNumber(this.nested(this.or)));
			}
		}
		this.must(")");
		return n;
	}

	ranked(n) {
		const pos = this.pos(), num = this.number();
		if (!num || num.word || num.num !== Math.trunc(num.num) || num.num < 1 || num.num > 2147483647) this.failAt(pos, "expected a whole number of quanta from 1 to 2147483647");
		n.count = num.num;
		this.must(",");
		n.span = this.maybeSpan();
		if (!n.span) this.fail("expected gc or the name of a span as a string, not " + this.next());
		if (this.take(",")) n.each = this.eachOf(EACH);
	}

	during(n) {
		n.span = this.maybeSpan();
		if (n.span) return;
		n.kids.push(this.wantNumber(this.nested(this.sum)));
		this.must(",");
		n.kids.push(this.wantNumber(this.nested(this.sum)));
		n.kids.forEach(k => this.wantConstant(k));
	}

	between(n) {
		n.texts = [];
		for (let i = 0; i < 2; i++) {
			if (i) this.must(",");
			const text = this.quoted();
			if (text === null) this.fail("expected the text of a marker as a string, not " + this.next());
			n.texts.push(text);
		}
		if (this.take(",")) n.each = this.eachOf(["goroutine"]);
	}

	eachOf(allowed) {
		const pos = this.pos(), name = this.name();
		if (!allowed.includes(name)) this.failAt(pos, `expected ${allowed[0]} here`);
		return name;
	}

	maybeSpan() {
		const at = this.pos();
		if (this.peekName() === "gc") {
			this.name();
			return GC_SPAN;
		}
		const name = this.quoted();
		if (name === "") this.failAt(at, "a span has a name");
		return name || "";
	}

	wantConstant(n) {
		if (["name", "quoted", "change"].includes(n.op)) this.failAt(n.pos, "expected a time that does not depend on the quantum, such as 2ms");
		n.kids.forEach(k => this.wantConstant(k));
	}
}

function parseWhole(text, rule) {
	if (new TextEncoder().encode(text).length > MAX_TEXT) throw new SyntaxTrouble("", 0, "the text is longer than 16384 bytes");
	const p = new Parser(text), n = rule(p);
	p.pos();
	if (p.at < text.length) p.fail("unexpected " + p.next());
	n.source = text;
	return n;
}

// parseFilter and parseMetric return trees; they throw SyntaxTrouble. "" is all quanta.
const parseFilter = text => parseWhole(text, p => p.pos() === text.length ? {op: "all", pos: 0, kids: []} : p.filter());
const parseMetric = text => parseWhole(text, p => p.metric());

// compileRegexp takes what Go and JavaScript read alike.
function compileRegexp(text) {
	const refuse = message => { throw new Error("regular expression: " + message); };
	if (new TextEncoder().encode(text).length > 1000) throw new Error("the regular expression is longer than 1000 bytes");
	const insensitive = text.startsWith("(?i)"), body = insensitive ? text.slice(4) : text;
	let inside = false, start = 0;
	for (let i = 0; i < body.length; i++) {
		const c = body[i], next = body[i + 1] || "", rest = body.slice(i);
		if (c === "\\") {
			const ok = next && ("dDwWsStnrfv^$\\.*+?()[]{}|/".includes(next) || "bB".includes(next) && !inside || next === "-" && inside);
			if (!ok) refuse(`the escape ${quoteText(rest.slice(0, 2))} is not supported`);
			if (next === "/") refuse("write / without a \\");
			i++;
		} else if (inside) {
			if (c === "[") refuse("write \\[ within a class");
			if (c === "]") {
				if (i === start) refuse("a class is empty");
				inside = false;
			}
		} else if (c === "[") {
			inside = true;
			if (next === "^") i++;
			start = i + 1;
		} else if (c === "]" || c === "}") {
			refuse("write \\" + c);
		} else if (c === "{") {
			const m = /^\{[0-9]+(,[0-9]*)?\}/.exec(rest);
			if (!m) refuse("write \\{");
			if (m[0].match(/[0-9]+/g).some(v => Number(v) > 1000)) refuse("a repetition is more than 1000");
			i += m[0].length - 1;
		} else if (rest.startsWith("(?") && !rest.startsWith("(?:")) {
			refuse("of (?…) only (?:…) is supported, and (?i) at the very beginning");
		}
	}
	try {
		return new RegExp(body, insensitive ? "iu" : "u");
	} catch (err) {
		refuse(err.message.replace(/^Invalid regular expression: /, ""));
	}
}
