package report

import (
	"encoding/json"
	"os"
	"testing"
)

// engineScripts are the modules that answer queries.
var engineScripts = []string{"text.js", "lexer.js", "parser.js", "canonical.js", "metric.js", "sets.js", "statistics.js", "figures.js", "density.js", "lanecells.js", "comparison.js", "engine.js"}

// engineBench makes a table of a recording as JSON, answers all cases, and lists what differs from Go's answers.
const engineBench = `
const D = {groups: [], counters: {endings: [], waits: []}}, h = null;
const ints = v => ({ints: Int32Array.from(v), numbers: Float64Array.from(v)});
function tableOf(r) {
	const ids = [...new Set(r.goroutine)], threads = [...new Set(r.thread)];
	const groups = r.groups.map(g => D.groups.push(g) - 1);
	const form = {rows: r.begin.length, wall: r.wall, groups, goroutines: ids, threads: threads.map(t => t < 0 ? "" : String(t)), funcs: r.funcs, endings: r.endings, waits: r.waits, counters: r.counters, markers: r.markers, spans: r.spans};
	const columns = {goroutine: ints(r.goroutine.map(v => ids.indexOf(v))), thread: ints(r.thread.map(v => threads.indexOf(v))), group: ints(r.group), proc: ints(r.proc), begin: ints(r.begin), duration: ints(r.duration), ending: ints(r.ended), wait: ints(r.wait), func: ints(r.func)};
	columns.begin.numbers = Float64Array.from(r.begin);
	columns.duration.numbers = Float64Array.from(r.duration);
	r.counters.forEach((c, i) => { columns["counter " + i] = {numbers: Float64Array.from(c.values, v => v === null ? NaN : v)}; });
	D.counters = form;
	return new LocalEngine(new Table(form, columns));
}
function differs(got, want, at) {
	if (got === undefined) got = null;
	if (want === undefined) want = null;
	if (want === null && (got === "" || got === 0) && at.startsWith("answer.against")) return ""; // Go leaves these out
	if (typeof want === "number" && typeof got === "number") return got === want || (got !== got && want === null) ? "" : at + ": " + got + " is not " + want;
	if (want === null || typeof want !== "object" || got === null || typeof got !== "object") return got === want ? "" : at + ": " + JSON.stringify(got) + " is not " + JSON.stringify(want);
	for (const k of new Set([...Object.keys(got), ...Object.keys(want)])) {
		const d = differs(got[k], want[k], at + "." + k);
		if (d) return d;
	}
	return "";
}
function trouble() {
	const out = [], engines = {};
	for (const [name, r] of Object.entries(V.recordings)) engines[name] = () => tableOf(r);
	engines.small();
	for (const p of V.parse) {
		const text = p.filter ?? p.metric, parse = p.filter === undefined ? parseMetric : parseFilter;
		let got;
		try {
			got = canonical(parse(text));
		} catch (err) {
			if (!(err instanceof SyntaxTrouble)) throw err;
			if (p.pos !== err.pos) out.push("parse " + text.slice(0, 200) + ": error at " + err.pos + " (" + err.message + "), not " + p.pos + " " + (p.canonical || ""));
			continue;
		}
		if (got !== p.canonical) out.push("parse " + text.slice(0, 200) + ": " + got + " is not " + p.canonical + " error at " + p.pos);
	}
	V.cases.forEach((c, i) => {
		const e = engines[c.recording](), what = "case " + i + " " + JSON.stringify(c.query).slice(0, 300) + ": ";
		try {
			if (c.set && !c.part) {
				const d = differs(Array.from(e.rows(c.query.filter || "").rows), c.set, "set");
				if (d) return out.push(what + d);
			}
			const answer = e.answerNow(c.query);
			const d = c.answer ? differs(answer, c.answer, "answer") : "an answer, not an error in " + c.part;
			if (d) out.push(what + d);
		} catch (err) {
			if (!c.part) out.push(what + err.message + err.stack);
			else if (err.part !== c.part) out.push(what + "blames " + err.part + ", not " + c.part + ": " + err.message);
			else if (c.pos !== undefined && err.pos !== c.pos) out.push(what + "error at " + err.pos + " (" + err.message + "), not " + c.pos);
		}
	});
	return out;
}`

// The page's engine answers as Go's does, to the last bit: Go's own vectors, run in the browser.
func TestEngineAnswersAsGo(t *testing.T) {
	vectors, err := os.ReadFile("../../counters/testdata/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	inBrowser(t, engineScripts, json.RawMessage(vectors), engineBench)
	var v struct {
		Parse, Cases []json.RawMessage
	}
	if err := json.Unmarshal(vectors, &v); err != nil || len(v.Parse) < 100 || len(v.Cases) < 100 {
		t.Errorf("only %d texts and %d cases: %v", len(v.Parse), len(v.Cases), err)
	}
}
