package report

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A browser shows the cells of the table and no other elements, whatever the names are.
func TestTableEscapesNames(t *testing.T) {
	hostile := `</td><script>alert("1")</script><img src=x onerror='x'>&lt;` + "\u202e\x00"
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: hostile, Site: timeline.Place{Func: hostile, File: hostile, Line: 1}, Time: 1500000001, Count: 1371},
		{Category: ledger.Idle, Wait: hostile, Waker: hostile, Beside: hostile, Time: 499999999, Count: 2},
	}}
	table := l.Table()
	table.Title += hostile
	table.Columns[1].Help = `" onclick="x`
	var b strings.Builder
	if err := WriteTable(&b, table); err != nil {
		t.Fatal(err)
	}
	// Every tag is one of the page, with the page's attributes; the browser treats everything
	// else as text.
	own := regexp.MustCompile(`^</?(?:!DOCTYPE|html|head|meta|title|style|body|table|caption|thead|tbody|tfoot|tr|th|td)(?: (?:html|(?:lang|charset|http-equiv|content|name|scope|class|title)="[^"<>]*"))*>$`)
	elements := map[string]int{}
	for _, tag := range regexp.MustCompile(`<[^>]*>?`).FindAllString(b.String(), -1) {
		if !own.MatchString(tag) {
			t.Errorf("%s", tag)
		}
		elements[strings.TrimRight(strings.Fields(tag)[0], ">")]++
	}
	var cells []string
	for _, m := range regexp.MustCompile(`<td[^>]*>([^<]*)</td>`).FindAllStringSubmatch(b.String(), -1) {
		cells = append(cells, html.UnescapeString(m[1]))
	}
	shown := strings.NewReplacer("\u202e", "\ufffd", "\x00", "\ufffd").Replace(hostile)
	want := []string{"1.5 s", "75%", "code", ""}
	columns := len(ledger.Columns) + 2
	if len(cells) != 3*columns || elements["<th"] != columns || elements["<tr"] != 4 {
		t.Fatalf("%d cells, elements %v", len(cells), elements)
	}
	for i, w := range want {
		if cells[i] != w {
			t.Errorf("cell %d is %q, want %q", i, cells[i], w)
		}
	}
	if sums := cells[2*columns:]; sums[0] != "2 s" || sums[1] != "100%" {
		t.Errorf("the sums are %q", sums)
	}
	if cells[columns+3] != shown {
		t.Errorf("a name is shown as %q, want %q", cells[columns+3], shown)
	}
	if !strings.Contains(b.String(), `title="1500000001"`) {
		t.Error("the digits are not there")
	}
}
