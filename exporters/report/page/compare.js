// Two selections against each other: the metrics whose means differ most between them, found automatically.

const compareSection = {};

function makeCompare() {
	compareSection.at = h("div#compare");
	return compareSection.at;
}

// setFilter is the filter of a choice: the selection at hand, all else, everything, or a named one.
function setFilter(choice) {
	if (choice === "" || choice === "selection") return filterText(state.sel);
	if (choice === "everything") return "all";
	const sel = state.named.get(choice.replace(/^set:/, ""));
	return sel ? filterText(sel) : null;
}

function drawCompare() {
	const choices = [["selection", "the selection at hand"], ["everything", "everything"], ...[...state.named.keys()].map(k => ["set:" + k, show(k, 40)])];
	const choose = (i, label) => h("label", null, label, h("select", {id: "set-" + "ab"[i], onchange: ev => { const sets = [...state.view.sets]; sets[i] = ev.target.value; look({sets}); }},
		(i ? [["", "all other quanta"], ...choices] : choices).map(([value, text]) => h("option", {value, selected: state.view.sets[i] === value}, text))));
	fill(compareSection.at, h("h3", null, "what differs between two selections"), h("div.fields", null, choose(0, "A"), choose(1, "B"), h("button#search", {type: "button", onclick: searchDifferences}, "search")), h("div#compare-result", {role: "status"}));
	showComparison();
}

const compareResult = () => compareSection.at.querySelector("#compare-result");

// chosenFilters are the filters of A and B; null where a named selection is gone.
function chosenFilters() {
	const [a, b] = state.view.sets;
	const fb = b === "" ? "" : setFilter(b);
	return [setFilter(a), fb === "" && b !== "" ? "all" : fb]; // "" would be all other quanta
}

const searchDifferences = async () => {
	const trouble = text => fill(compareResult(), h("p.trouble", null, text)), [fa, fb] = chosenFilters();
	if (fa === null || fb === null) return trouble("A named selection is gone: choose another one.");
	try {
		const answer = await engine.answer({filter: fa, against: fb, compare: {limit: 20}});
		compareSection.last = {fa, fb, answer};
		showComparison();
	} catch (err) {
		if (err.name !== "AbortError") trouble(err.message);
	}
};

// showComparison shows what was found last, as long as it is about the selections that are chosen: the section is
// drawn anew with everything else.
function showComparison() {
	const last = compareSection.last, [fa, fb] = chosenFilters();
	if (last && last.fa === fa && last.fb === fb) fill(compareResult(), comparisonTable(last.answer));
}

function comparisonTable(a) {
	const c = a.comparison, mean = (s, u) => s.mean === null ? "–" : measure(s.mean, u);
	return [h("p", null, `A: ${plural(a.count, "quantum", "quanta")}, B: ${plural(a.against_count, "quantum", "quanta")}. ${plural(c.candidates, "metric was", "metrics were")} compared; those that differ most come first. `, h("span.muted", null, show(c.note || "", 400))),
		dataTable({
			id: "compare-rows", label: "metrics by difference", rows: c.rows, limit: 20,
			columns: [
				{title: "metric", text: r => r.metric, cell: r => h("button.sort", {type: "button", title: "show as y", onclick: () => look({y: r.metric})}, h("bdi.code", null, show(r.metric, 80)))},
				{title: "mean of A", num: true, value: r => r.a.mean ?? NaN, cell: r => mean(r.a, r.unit)}, {title: "mean of B", num: true, value: r => r.b.mean ?? NaN, cell: r => mean(r.b, r.unit)},
				{title: "difference", num: true, value: r => r.difference ?? NaN, cell: r => measure(r.difference ?? NaN, r.unit)}, {title: "95 % interval", num: true, wide: true, value: r => r.low ?? NaN, cell: r => r.low === null ? "–" : `${measure(r.low, r.unit)} … ${measure(r.high, r.unit)}`},
				{title: "in deviations", num: true, value: r => Math.abs(r.standardized ?? 0), cell: r => r.standardized === null ? "–" : two(r.standardized), strong: r => Math.abs(r.standardized ?? 0) >= .8, help: "difference ÷ common standard deviation"},
			],
		})];
}
