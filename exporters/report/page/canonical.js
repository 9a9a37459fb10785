// The canonical form of an expression: the shortest text that parses to the same tree, as Go's counters.Filter.String writes it.

const BINDING = {or: 1, and: 2, not: 3, compare: 4, in: 4, text: 4, textIn: 4, add: 5, sub: 5, mul: 6, div: 6, neg: 7};
const INFIX = {or: " || ", and: " && ", add: " + ", sub: " - ", mul: " * ", div: " / "};
const bindingOf = n => BINDING[n.op] || 8;

// canonical writes a tree.
function canonical(n) {
	switch (n.op) {
	case "or": case "and": case "add": case "sub": case "mul": case "div":
		return within(n.kids[0], bindingOf(n)) + INFIX[n.op] + within(n.kids[1], bindingOf(n) + 1);
	case "not": return "!" + within(n.kids[0], 8);
	case "neg": return "-" + within(n.kids[0], bindingOf(n));
	case "compare": return `${canonical(n.kids[0])} ${n.word} ${canonical(n.kids[1])}`;
	case "in": return `${canonical(n.kids[0])} in (${n.list.map(([a, b]) => a === b ? canonical(a) : canonical(a) + ".." + canonical(b)).join(", ")})`;
	case "text": return `${n.field} ${n.word} ${valueText(n, n.texts[0])}`;
	case "textIn": return `${n.field} in (${n.texts.map(t => valueText(n, t)).join(", ")})`;
	case "all": case "none": return n.op;
	case "number": return n.plain + n.word;
	case "name": return n.word;
	case "quoted": return quoteText(n.word);
	}
	return callText(n);
}

function within(n, binding) {
	const text = canonical(n);
	return bindingOf(n) >= binding ? text : "(" + text + ")";
}

const valueText = (n, text) => fieldValues(n.field) && n.word !== "=~" && n.word !== "!~" ? text : quoteText(text);

function callText(n) {
	const args = [];
	if (n.op === "first" || n.op === "last") args.push(String(n.count));
	if (n.op === "between") args.push(quoteText(n.texts[0]), quoteText(n.texts[1]));
	if (n.span === GC_SPAN) args.push("gc");
	else if (n.span) args.push(quoteText(n.span));
	if (n.each) args.push(n.each);
	if (n.field) args.push(n.field);
	return `${n.op}(${[...args, ...n.kids.map(canonical)].join(", ")})`;
}
