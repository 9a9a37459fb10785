package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/browser"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The page's tree has the numbers of Profile.Aggregate, node by node, for random profiles and orders of all lengths.
func TestAggregateAsGo(t *testing.T) {
	type want struct {
		Profile int
		By      []contention.Aspect
		Tree    *contention.Tree
	}
	var profiles []*contentionForm
	var wants []want
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 4 {
		p := testContention(searchNames(5), uint64(i))
		profiles = append(profiles, newContentionForm(p, nil, newNamer()))
		for n := range 6 {
			by := append([]contention.Aspect(nil), contention.Aspects...)
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
	for (const [g, w] of [["key", "Key"], ["n", "Contentions"], ["waited", "Waited"], ["blamed", "Blamed"], ["handOff", "HandOff"], ["unattributed", "Unattributed"], ["ready", "Ready"], ["idle", "ReadyIdle"]]) {
		if (got[g] !== want[w]) return at + "." + w + ": " + got[g] + ", not " + want[w];
	}
	const kids = want.Children || [];
	if (got.children.length !== kids.length) return at + ": " + got.children.length + " children, not " + kids.length;
	for (let i = 0; i < kids.length; i++) {
		const d = differs(got.children[i], kids[i], at + "/" + kids[i].Key.slice(0, 30));
		if (d) return d;
	}
	return "";
}
const trouble = () => V.wants.map(w => differs(aggregate(V.profiles[w.Profile], w.By || []), w.Tree, (w.By || []).join())).filter(Boolean);`)
}

// order reads the aspects on the page.
func (p *tester) order() string {
	return p.eval(`[...document.querySelectorAll("#aspects-used button")].map(b => b.dataset.aspect).join()`)
}

// A chip that is dragged in front of another one changes the tree; so do arrow keys and Delete.
func TestAspects(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "", wide)
	if got := p.order(); got != "kind,lock,waiter-func,owner-func" {
		t.Fatalf("aspects are %s", got)
	}
	from, err := p.Find(`#aspects-used [data-aspect="owner-func"]`)
	p.must(err)
	to, err := p.Find(`#aspects-used [data-aspect="kind"]`)
	p.must(err)
	p.must(p.Drag(from, browser.Point{X: to.X - 30, Y: to.Y}))
	p.settle()
	if got := p.order(); got != "owner-func,kind,lock,waiter-func" {
		t.Errorf("after a drag to the front: %s", got)
	}
	p.firstRow(d, contention.ByOwnerFunc)
	p.must(p.Eval(`document.querySelector('#aspects-used [data-aspect="lock"]').focus()`, nil))
	p.key("ArrowLeft", "ArrowLeft")
	if got := p.order(); got != "lock,owner-func,kind,waiter-func" {
		t.Errorf("after two arrows: %s", got)
	}
	p.firstRow(d, contention.ByLock)
	p.key("Delete")
	if got := p.order(); got != "owner-func,kind,waiter-func" {
		t.Errorf("after Delete: %s", got)
	}
	p.click(`#aspects-rest [data-aspect="class"]`)
	if got := p.order(); got != "owner-func,kind,waiter-func,class" {
		t.Errorf("after a click: %s", got)
	}
	if hash := p.eval("decodeURIComponent(location.hash)"); !strings.Contains(hash, "by=owner-func,kind,waiter-func,class") {
		t.Errorf("the address has %q", hash)
	}
}

// firstRow checks the first row of the tree against Go's.
func (p *tester) firstRow(d *Data, by contention.Aspect) {
	p.t.Helper()
	tree, err := d.Contention.Aggregate(by)
	p.must(err)
	first := tree.Children[0]
	label := p.eval(`document.querySelector("#tree [role=treeitem]").getAttribute("aria-label")`)
	if want := "blocked " + format.Duration(first.Waited); !strings.Contains(label, want) {
		p.t.Errorf("by %s the first row is %q, want %s with %v", by, label, first.Key, first.Waited)
	}
}

// The tree opens and closes by keyboard; a row selected shows its call chains side by side.
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
	p.shows("#chains", "who waited", "who held it meanwhile", "lru.go")
	// A waiter's chain narrows the owners.
	before := p.eval(`document.querySelectorAll("#chains .chain-list")[1].innerText`)
	p.click("#chains .chain-list .chain")
	if after := p.eval(`document.querySelectorAll("#chains .chain-list")[1].innerText`); after == before {
		t.Log("the owners of the first waiter are those of all") // may be true
	}
	if got := p.eval(`document.querySelector("#chains .chain").getAttribute("aria-pressed")`); got != "true" {
		t.Errorf("aria-pressed is %s", got)
	}
}

// A lock that is selected filters the tree, and the tree's total is the lock's.
func TestSelectLock(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "", wide)
	p.click("#lock-rows tbody tr")
	lock := d.Contention.LockTable()[0]
	p.shows("#contention-lead", fmt.Sprintf("in %d waits", lock.Contentions))
	p.shows("#bar", "lock")
}
