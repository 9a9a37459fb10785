package text

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// books is a ledger of 1 s on 4 processors.
func books() *ledger.Ledger {
	return &ledger.Ledger{Wall: time.Second, Procs: 4, Capacity: 4 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "example.com/shop/cart.(*Cart).work", Site: timeline.Place{Func: "example.com/shop/cart.(*Cart).total", File: "/src/cart.go", Line: 12}, Time: 2 * time.Second, Count: 1371, Queue: 3 * time.Millisecond},
		{Category: ledger.Idle, Group: "main.serve", Site: timeline.Place{Func: "main.serve", File: "/src/main.go", Line: 3}, Wait: "mutex", Waker: "main.flush", WakerSite: timeline.Place{Func: "main.flush"}, Beside: "main.flush", Time: 900 * time.Millisecond, Count: 9},
		{Category: ledger.Idle, Group: "main.serve", Site: timeline.Place{Func: "main.serve", File: "/src/main.go", Line: 3}, Wait: "mutex", Waker: "main.serve", Beside: ledger.None, Time: 600 * time.Millisecond, Count: 1},
		{Category: ledger.GCStop, Time: 499 * time.Millisecond, Count: 7},
		{Category: ledger.NoWork, Time: time.Millisecond, Count: 1, Beside: "\x1b[31mred\u202e"},
	}}
}

func textOf(t *testing.T, table *result.Table, opt Options) string {
	t.Helper()
	var b strings.Builder
	if err := WriteTable(&b, table, opt); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(b.String(), "\n") {
		if opt, _ := opt.withDefaults(); columns(line) > opt.Width && !opt.Color {
			t.Errorf("line %d is wider than %d: %q", i+1, opt.Width, line)
		}
	}
	return b.String()
}

// Columns that do not fit are omitted, and rows that then look the same are merged. The sums stay.
func TestTableText(t *testing.T) {
	const at80 = `What 1 s × 4 processors went to

  time     %  category  waited for  function            line        count  queue
   2 s   50%  code                  cart.(*Cart).total  cart.go:12  1,371   3 ms
 1.5 s   38%  idle      mutex       main.serve          main.go:3      10    0 s
499 ms   12%  gc-stop                                                   7    0 s
  1 ms   <1%  no-work                                                   1    0 s
   4 s  100%  all                                                   1,389   3 ms
No room for: group, waker, waker_function, beside, lost.
`
	const all = `What 1 s × 4 processors went to

  time     %  category  waited for  function            line        goroutines         woken by    in          beside      count    lost    %  queue
   2 s   50%  code                  cart.(*Cart).total  cart.go:12  cart.(*Cart).work                                      1,371     0 s   0%   3 ms
900 ms   23%  idle      mutex       main.serve          main.go:3   main.serve         main.flush  main.flush  main.flush      9  900 ms  23%    0 s
600 ms   15%  idle      mutex       main.serve          main.go:3   main.serve         main.serve              none            1  600 ms  15%    0 s
499 ms   12%  gc-stop                                                                                                          7  499 ms  12%    0 s
  1 ms   <1%  no-work                                                                                          �[31mred�       1    1 ms  <1%    0 s
   4 s  100%  all                                                                                                          1,389     2 s  50%   3 ms
`
	const top = `What 1 s × 4 processors went to

  time     %  category  waited for  function            line        count  queue
   2 s   50%  code                  cart.(*Cart).total  cart.go:12  1,371   3 ms
 1.5 s   38%  idle      mutex       main.serve          main.go:3      10    0 s
500 ms   13%  2 others                                                  8    0 s
   4 s  100%  all                                                   1,389   3 ms
No room for: group, waker, waker_function, beside, lost.
`
	for _, tt := range []struct {
		opt  Options
		want string
	}{
		{Options{Width: 80}, at80},
		{Options{Width: 80, Top: 2}, top},
		{Options{Width: 200}, all},
	} {
		if got := textOf(t, books().Table(), tt.opt); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.opt, got, tt.want)
		}
	}
	if got := textOf(t, (&ledger.Ledger{}).Table(), Options{}); got != "What 0 s × 0 processors went to\n\nNo rows.\n" {
		t.Errorf("an empty ledger is %q", got)
	}
}

// At every width and with every number of rows, the numbers are those of the whole.
func TestTableWidths(t *testing.T) {
	for width := 48; width < 240; width += 3 {
		for top := range 6 {
			got := textOf(t, books().Table(), Options{Width: width, Top: top, Color: top == 5})
			if !strings.Contains(got, " 4 s  100%  all") {
				t.Errorf("width %d, top %d:\n%s", width, top, got)
			}
		}
	}
}

// The CSV can be read back: the numbers have all digits, and names are harmless.
func TestTableCSV(t *testing.T) {
	l := books()
	l.Rows[0].Group = "=cmd(),\"x\"\n@y"
	var b strings.Builder
	if err := TableCSV(&b, l.Table()); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1+len(l.Rows) {
		t.Fatalf("%d records", len(records))
	}
	sum := time.Duration(0)
	for i, record := range records {
		for k, cell := range record {
			name := ledger.Columns[k].Name
			if i == 0 {
				if cell != name {
					t.Errorf("column %d is %s, want %s", k, cell, name)
				}
				continue
			}
			r := &l.Rows[i-1]
			want, is := map[string]string{
				"category": r.Category, "wait": r.Wait, "function": r.Site.Func, "waker": r.Waker,
				"time": fmt.Sprint(int64(r.Time)), "count": fmt.Sprint(r.Count), "queue": fmt.Sprint(int64(r.Queue)),
			}[name]
			if is && cell != want {
				t.Errorf("row %d: %s is %q, want %q", i, name, cell, want)
			}
			if name == "time" {
				d, err := time.ParseDuration(cell + "ns")
				if err != nil {
					t.Error(err)
				}
				sum += d
			}
		}
	}
	if sum != l.Capacity {
		t.Errorf("the times sum to %v, want %v", sum, l.Capacity)
	}
	for _, hostile := range []string{"\n=", ",=", "\x1b", "\u202e"} {
		if strings.Contains(b.String(), hostile) {
			t.Errorf("%q is in\n%s", hostile, b.String())
		}
	}
	if !strings.Contains(b.String(), "'=cmd") {
		t.Errorf("a formula is in\n%s", b.String())
	}
}
