// The signs, words and numbers of the language of filters and metrics. The language, its bounds and its errors are those
// of Go's package counters (parselex.go); the two are tested with the same vectors.

const MAX_TEXT = 16 << 10, MAX_NESTING = 64, MAX_OPERATORS = 500, MAX_ITEMS = 4000;

// SyntaxTrouble says where and why an expression is wrong; pos counts code points.
class SyntaxTrouble extends Error {
	constructor(text, at, message) {
		super(message);
		this.input = text;
		this.pos = Array.from(text.slice(0, at)).length;
	}
}

// SUFFIXES are the units that a number may carry.
const SUFFIXES = {ns: [1, "ns"], us: [1e3, "ns"], ms: [1e6, "ns"], s: [1e9, "ns"], B: [1, "bytes"], kB: [1e3, "bytes"], MB: [1e6, "bytes"], GB: [1e9, "bytes"],
	KiB: [1024, "bytes"], MiB: [1 << 20, "bytes"], GiB: [1 << 30, "bytes"]};

class Lexer {
	constructor(text) {
		this.text = text;
		this.at = this.depth = this.operators = this.items = 0;
	}

	failAt(at, message) { throw new SyntaxTrouble(this.text, at, message); }

	fail(message) { this.failAt(this.pos(), message); }

	// match consumes what a sticky expression finds here.
	match(re) {
		re.lastIndex = this.at;
		const m = re.exec(this.text);
		if (m) this.at += m[0].length;
		return m ? m[0] : "";
	}

	pos() {
		this.match(/[ \t\r\n]+/y);
		return this.at;
	}

	take(sign) {
		this.pos();
		if (!this.text.startsWith(sign, this.at)) return false;
		this.at += sign.length;
		return true;
	}

	must(sign) { if (!this.take(sign)) this.fail(`expected ${sign}, not ${this.next()}`); }

	next() {
		this.pos();
		const rest = this.text.slice(this.at);
		return rest === "" ? "the end" : quoteText((/^[A-Za-z0-9_]+/.exec(rest) || [Array.from(rest)[0]])[0].slice(0, 40));
	}

	peekName() {
		const at = this.pos(), name = this.name();
		this.at = at;
		return name;
	}

	name() {
		this.pos();
		return this.match(/[A-Za-z_][A-Za-z0-9_]*/y);
	}

	bareWord() {
		this.pos();
		return this.match(/[A-Za-z_][A-Za-z0-9_./-]*/y);
	}

	// quoted reads a JSON string, null if none comes next.
	quoted() {
		this.pos();
		if (this.text[this.at] !== '"') return null;
		let end = this.at + 1;
		while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
		if (end >= this.text.length) this.fail("the string is not closed");
		let value;
		try {
			value = JSON.parse(this.text.slice(this.at, end + 1));
		} catch {
			this.fail('not a string as in JSON: only \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u1234 are escapes');
		}
		this.at = end + 1;
		return value.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
	}

	// number reads a number with its suffix, null if none comes next.
	number() {
		const pos = this.pos(), text = this.match(/[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/y);
		if (!text) return null;
		const n = {op: "number", pos, plain: Number(text), word: "", kids: []};
		if (!Number.isFinite(n.plain)) this.failAt(pos, "the number is too large");
		n.num = n.plain;
		if (this.text[this.at + 1] === "s" && "µμ".includes(this.text[this.at])) {
			n.word = "us";
			this.at += 2;
		} else if (/[A-Za-z_]/.test(this.text[this.at] || "")) {
			const at = this.at;
			n.word = this.name();
			if (!Object.hasOwn(SUFFIXES, n.word)) this.failAt(at, `unknown unit ${quoteText(n.word)} of a number: there are ${Object.keys(SUFFIXES).join(", ")}`);
		}
		if (n.word) n.num = n.plain * SUFFIXES[n.word][0];
		if (!Number.isFinite(n.num)) this.failAt(pos, "the number is too large");
		return n;
	}
}

// quoteText writes a JSON string that escapes only what must be.
const quoteText = text => '"' + text.replace(/["\\]/g, "\\$&").replace(/[\x00-\x1f\x7f]/g, c => "\\u00" + c.charCodeAt(0).toString(16).padStart(2, "0")) + '"';
