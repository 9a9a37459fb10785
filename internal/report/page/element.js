// Elements. Text becomes text nodes or attributes, never HTML, because names come from the recorded program.

const SVG = "http://www.w3.org/2000/svg";

// h creates an element: h("a.b#c", {attributes, onclick: f}, children…). Children are nodes, strings, numbers, arrays, or
// null.
function h(what, attributes, ...children) { return build(document, null, what, attributes, children); }

// s creates an SVG element.
function s(what, attributes, ...children) { return build(document, SVG, what, attributes, children); }

function build(doc, space, what, attributes, children) {
	const [, tag, rest] = /^([a-z0-9]+)(.*)$/i.exec(what);
	const e = space ? doc.createElementNS(space, tag) : doc.createElement(tag);
	for (const part of rest.match(/[.#][^.#]+/g) || []) {
		if (part[0] === "#") e.id = part.slice(1);
		else e.classList.add(part.slice(1));
	}
	for (const [key, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false) continue;
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else if (key === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
		else if (key === "value" && "value" in e) e.value = value;
		else e.setAttribute(key, value === true ? "" : String(value));
	}
	add(e, children);
	return e;
}

function add(e, child) {
	if (Array.isArray(child)) for (const c of child) add(e, c);
	else if (child instanceof Node) e.append(child);
	else if (child !== null && child !== undefined && child !== false) e.append(String(child));
}

// fill replaces the children of an element.
function fill(e, ...children) {
	e.replaceChildren();
	add(e, children);
	return e;
}

const byID = id => document.getElementById(id);

// say announces a change to screen readers.
let saying = 0;
function say(text) {
	clearTimeout(saying);
	saying = setTimeout(() => { byID("live").textContent = text; }, 150);
}

// zoom is the factor by which text is larger on very wide screens. Pictures grow with it.
const zoom = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;

// roomIn returns the width of an element in units of a picture.
const roomIn = e => Math.floor((e.clientWidth || 320) / zoom());

// drawing creates the root of a picture with the given size in units.
const drawing = (what, width, height, attributes, ...children) => s(what, {viewBox: `0 0 ${width} ${height}`, width: Math.round(width * zoom()), height: Math.round(height * zoom()), ...attributes}, children);

// onWidth calls f with the width of an element now and whenever it changes.
function onWidth(e, f) {
	let last = 0, frame = 0;
	new ResizeObserver(() => {
		cancelAnimationFrame(frame);
		frame = requestAnimationFrame(() => {
			const w = Math.floor(e.clientWidth);
			if (w > 0 && w !== last) f(last = w);
		});
	}).observe(e);
}

// section creates a section of the page with a heading and an explanation.
function section(id, title, ...children) {
	return h("section#" + id, {"aria-labelledby": id + "-title"}, h(`h2#${id}-title`, null, title), children);
}

// notes lists the limits of the numbers above them.
function notes(list, label) {
	if (!list.length) return null;
	const items = list.map(t => h("li", null, show(t, 600)));
	if (list.length <= 3) return h("ul.notes", {"aria-label": label || "notes"}, items);
	return h("details.notes", null, h("summary", null, `${list.length} notes on what limits the trust in these numbers`), h("ul", null, items));
}
