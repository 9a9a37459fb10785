package browsertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/report"
)

// The page's tree has the numbers of Profile.Aggregate, node by node, for random profiles and
// orders of all lengths.
func TestAggregateAsGo(t *testing.T) {
	type want struct {
		Profile int
		By      []string
		Tree    *contention.Tree
	}
	var profiles []json.RawMessage
	var wants []want
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 4 {
		p := testContention(searchNames(5), uint64(i))
		profiles = append(profiles, dataOf(t, &report.Data{Contention: p}, "contention"))
		for n := range 6 {
			by := append([]string(nil), contention.Aspects...)
			rnd.Shuffle(len(by), func(i, j int) { by[i], by[j] = by[j], by[i] })
			tree, err := p.Aggregate(by[:n]...)
			if err != nil {
				t.Fatal(err)
			}
			wants = append(wants, want{i, by[:n], tree})
		}
	}
	inBrowser(t, []string{"text.js", "aggregate.js"}, map[string]any{"profiles": profiles, "wants": wants}, `
function differs(got, want, at) {
	for (const [g, w] of [["key", "Key"], ["n", "contentions"], ["waited", "wait_ns"], ["blamed", "blamed_ns"], ["handOff", "handoff_ns"], ["unattributed", "unattributed_ns"], ["ready", "ready_ns"], ["idle", "ready_idle_ns"]]) {
		if (got[g] !== (want[w] || 0) && got[g] !== want[w]) return at + "." + w + ": " + got[g] + ", not " + want[w];
	}
	const kids = want.Children || [];
	if (got.children.length !== kids.length) return at + ": " + got.children.length + " children, not " + kids.length;
	for (let i = 0; i < kids.length; i++) {
		const d = differs(got.children[i], kids[i], at + "/" + kids[i].Key.slice(0, 30));
		if (d) return d;
	}
	return "";
}
const profiles = V.profiles.map(link);
const trouble = () => V.wants.map(w => differs(aggregate(profiles[w.Profile], w.By || []), w.Tree, (w.By || []).join())).filter(Boolean);`)
}

// order returns the aspects on the page.
func (p *page) order() string {
	return p.eval(`[...document.querySelectorAll("#aspects select")].map(e => e.value).filter(Boolean).join()`)
}

// A menu for each level changes the tree.
func TestAspects(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "by=owner-func,kind,lock,waiter-func", wide)
	p.firstRow(d, contention.ByOwnerFunc)
	p.choose("#aspect-0", "lock")
	if got := p.order(); got != "lock,kind,owner-func,waiter-func" {
		t.Errorf("after the first aspect changed: %s", got)
	}
	if got := p.eval(`document.activeElement.id`); got != "aspect-0" {
		t.Errorf("the focus is at %q", got)
	}
	p.firstRow(d, contention.ByLock)
	p.choose("#aspect-0", "")
	if got := p.order(); got != "kind,owner-func,waiter-func" {
		t.Errorf("after the first aspect is none: %s", got)
	}
	p.choose("#aspect-0", "owner-func")
	p.choose("#aspect-3", "class")
	if got := p.order(); got != "owner-func,kind,waiter-func,class" {
		t.Errorf("after one is added: %s", got)
	}
	if hash := p.eval("decodeURIComponent(location.hash)"); !strings.Contains(hash, "by=owner-func,kind,waiter-func,class") {
		t.Errorf("the address has %q", hash)
	}
}

// firstRow compares the first row of the tree with Go's.
func (p *page) firstRow(d *report.Data, by string) {
	p.t.Helper()
	tree, err := d.Contention.Aggregate(by)
	p.must(err)
	var first *contention.Tree // with the largest cost
	most := time.Duration(-1)
	for _, c := range tree.Children {
		costs := time.Duration(0)
		if part, err := costing(d.Contention).Aggregate(by); err != nil {
			p.t.Fatal(err)
		} else if i := slices.IndexFunc(part.Children, func(x *contention.Tree) bool { return x.Key == c.Key }); i >= 0 {
			costs = part.Children[i].Waited
		}
		if costs > most {
			first, most = c, costs
		}
	}
	label := p.eval(`document.querySelector("#tree [role=treeitem]").getAttribute("aria-label")`)
	if want := "blocked " + format.Duration(first.Waited); !strings.Contains(label, want) {
		p.t.Errorf("by %s the first row is %q, want %s with %v", by, label, first.Key, first.Waited)
	}
}

// costing is a profile without the waits that may cost nothing.
func costing(p *contention.Profile) *contention.Profile {
	out := *p
	out.Waits = slices.DeleteFunc(slices.Clone(p.Waits), func(w contention.Wait) bool { return w.ForWork() })
	out.Pairs = slices.DeleteFunc(slices.Clone(p.Pairs), func(q contention.Wait) bool { return q.ForWork() })
	return &out
}

// The lock table has the order and the numbers of the text output. Waits for work come last in it
// and in the tree.
func TestWaitsForWorkComeLast(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "by=kind", wide)
	var want []string
	for _, r := range d.Contention.LockTable() {
		want = append(want, fmt.Sprint(r.Lock.String(), " ", format.Duration(r.Waited)))
	}
	if got, want := p.eval(`[...document.querySelectorAll("#lock-rows tbody tr")].map(r => r.querySelector(".name").title + " " + r.cells[3].innerText).join()`), strings.Join(want, ","); got != want {
		t.Errorf("locks are %s\nwant      %s", got, want)
	}
	kinds := p.eval(`[...document.querySelectorAll("#tree > *")].map(e => e.matches(".tree-note") ? "note" : e.querySelector(".name").innerText).join()`)
	if !strings.HasSuffix(kinds, ",note,waitgroup") {
		t.Errorf("kinds are %s", kinds)
	}
	var forWork, all time.Duration
	for _, w := range d.Contention.Waits {
		if all += w.Waited; w.ForWork() {
			forWork += w.Waited
		}
	}
	p.shows("#contention-lead", fmt.Sprintf("%s (%s) of that is waits for workers", format.Duration(forWork), format.Percent(forWork, all)))
}

// Waits in progress have rows, those for locks first, with the current owner or that it is
// unknown. The selection filters them.
func TestUnfinishedWaitsHaveRows(t *testing.T) {
	p := openFile(t, testData(5, 50), "", wide)
	const rows = `[...document.querySelectorAll("#unfinished-rows tbody tr")].map(r => [...r.cells].map(c => c.textContent).join(" | ")).join("\n")`
	const want = `cache | mutex | index.(*Reader).query0, at cache.(*LRU).step1 | 7 | 2.1 s | 300 ms | main.main, at cache.(*LRU).step2 | 250 ms
cache.LRU#1 | rwmutex-reader | main.main, at cache.(*LRU).step3 | 1 | 150 ms | 150 ms | cannot tell | `
	if got := p.eval(rows); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("%s\nwant\n%s", got, want)
	} else if last := got[strings.LastIndexByte(got, '\n')+1:]; !strings.HasPrefix(last, "[network] | network | ") || !strings.HasSuffix(last, " | 40 | 8 s | 200 ms |  | ") {
		t.Errorf("the last row is %q", last)
	}
	p.shows("#unfinished", "still waiting when the trace ended, in none of the sums")
	p = openFile(t, testData(5, 50), "lock=cache", wide)
	if n := p.count("#unfinished-rows tbody tr"); n != 1 {
		t.Errorf("%d rows of one lock", n)
	}
}

// The tree opens and closes by keyboard. A selected row shows its call chains side by side.
func TestTreeAndChains(t *testing.T) {
	p := openFile(t, testData(5, 50), "by=kind,waiter-func", wide)
	rows := p.count("#tree [role=treeitem]")
	p.must(p.Eval(`document.querySelector("#tree [tabindex='0']").focus()`, nil))
	p.key("ArrowLeft")
	if n := p.count("#tree [role=treeitem]"); n >= rows {
		t.Errorf("%d rows after closing, %d before", n, rows)
	}
	p.key("ArrowRight", "ArrowDown", "Enter")
	if got := p.eval(`document.activeElement.getAttribute("aria-selected")+document.activeElement.getAttribute("aria-level")`); got != "true2" {
		t.Errorf("selected and level are %s", got)
	}
	p.shows("#chains", "who waited", "who held it", "lru.go")
	// The chain of a waiter narrows the owners.
	before := p.eval(`document.querySelectorAll("#chains .chain-list")[1].innerText`)
	p.click("#chains .chain-list .chain")
	if after := p.eval(`document.querySelectorAll("#chains .chain-list")[1].innerText`); after == before {
		t.Log("the owners of the first waiter are those of all") // possible
	}
	if got := p.eval(`document.querySelector("#chains .chain").getAttribute("aria-pressed")`); got != "true" {
		t.Errorf("aria-pressed is %s", got)
	}
}

// A selected lock filters the tree, and the tree's total is that of the lock.
func TestSelectLock(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "", wide)
	p.click("#lock-rows tbody tr")
	lock := d.Contention.LockTable()[0]
	p.shows("#contention-lead", fmt.Sprintf("in %d waits", lock.Contentions))
	p.shows("#bar", "lock")
}
