package query

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func answer(t testing.TB, e *Explorer, q Query) *Answer {
	t.Helper()
	a, err := e.Answer(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The groups sum to the whole, whatever the rows are grouped by and however many groups are shown.
func TestTableSums(t *testing.T) {
	rec := made(21, 1300)
	e := explorer(t, rec)
	const filter = "duration > 30us || ended = blocked"
	metrics := []string{"minor_faults", "cycles", "instructions / cycles"}
	a := answer(t, e, Query{Filter: filter, Stats: metrics})
	for _, by := range []string{"group", "kind", "goroutine", "func", "caller", "proc", "thread", "ended", "wait"} {
		for _, limit := range []int{1, 2, 100} {
			table := answer(t, e, Query{Filter: filter, Table: &Table{By: by, Metrics: metrics, Limit: limit}}).Table
			rows := table.Rows
			if table.Others != nil {
				rows = append(rows, *table.Others)
			}
			count, duration, groups := 0, Value(0), 0
			known, sums := make([]int, 3), make([]Value, 3)
			low, high := Value(math.Inf(1)), Value(math.Inf(-1))
			for i, row := range rows {
				count += row.Count
				duration += row.Duration
				groups += max(1, row.Groups)
				low, high = min(low, row.Cells[1].Min), max(high, row.Cells[1].Max)
				if i > 0 && row.Groups == 0 && row.Duration > rows[i-1].Duration {
					t.Errorf("by %s: row %d is out of order", by, i)
				}
				for j, cell := range row.Cells {
					known[j] += cell.Known
					if cell.Sum.Known() {
						sums[j] += cell.Sum
					}
				}
			}
			if count != a.Count || duration != a.Duration || groups != table.Groups || low != a.Stats[1].Min || high != a.Stats[1].Max {
				t.Errorf("by %s, %d rows: %d quanta, %v, %d groups; want %d, %v, %d", by, limit, count, duration, groups, a.Count, a.Duration, table.Groups)
			}
			for j, s := range a.Stats {
				if known[j] != s.Known || math.Abs(float64(sums[j]-s.Sum)) > 1e-9*math.Abs(float64(s.Sum)) {
					t.Errorf("by %s, %d rows, %s: %v of %d, want %v of %d", by, limit, s.Metric, sums[j], known[j], s.Sum, s.Known)
				}
			}
		}
	}
}

// Each cell of a table equals the statistics of its part.
func TestTableCells(t *testing.T) {
	rec := made(22, 800)
	e := explorer(t, rec)
	table := answer(t, e, Query{Table: &Table{By: "goroutine", Metrics: []string{"instructions / cycles"}}}).Table
	if len(table.Rows) != 12 || table.Others != nil {
		t.Fatalf("%d goroutines", len(table.Rows))
	}
	for _, row := range table.Rows {
		s := statsOf(t, e, "instructions / cycles", "goroutine = "+row.Key)
		c := row.Cells[0]
		if c.Known != s.Known || c.Sum != s.Sum || c.Mean != s.Mean || c.Min != s.Min || c.Max != s.Max || c.RatioOfSums != s.RatioOfSums || row.Count != s.Count {
			t.Errorf("goroutine %s: %+v, want %+v", row.Key, c, s)
		}
		if row.Goroutine == nil || row.Proc != nil {
			t.Errorf("goroutine %s has no number", row.Key)
		}
	}
}

func TestRowsPages(t *testing.T) {
	rec := made(23, 333)
	e := explorer(t, rec)
	for _, descending := range []bool{false, true} {
		var all []quantum
		for offset := 0; ; offset += 50 {
			page := answer(t, e, Query{Filter: "duration > 10us", Rows: &rowPage{Sort: "minor_faults", Metrics: []string{"minor_faults"}, Descending: descending, Offset: offset, Limit: 50}}).Rows
			if len(page.Rows) == 0 {
				break
			}
			all = append(all, page.Rows...)
		}
		seen := map[int]bool{}
		for i, row := range all {
			seen[row.Row] = true
			if rec.Begin[row.Row] != row.Begin || rec.Groups[rec.Group[row.Row]].Name != row.Group || (rec.Proc[row.Row] < 0) != (row.Proc == nil) {
				t.Fatalf("row %d is wrong: %+v", row.Row, row)
			}
			if i == 0 {
				continue
			}
			a, b := all[i-1].Values[0], row.Values[0]
			if descending {
				a, b = b, a
			}
			ordered := a < b || a == b && all[i-1].Row < row.Row || !row.Values[0].Known() && (all[i-1].Values[0].Known() || all[i-1].Row < row.Row)
			if !ordered {
				t.Fatalf("row %d (%v) after row %d (%v)", row.Row, row.Values, all[i-1].Row, all[i-1].Values)
			}
		}
		if want := len(chosen(t, e, "duration > 10us")); len(seen) != want || len(all) != want {
			t.Errorf("%d rows of %d on all pages", len(seen), want)
		}
	}
}

// The bins of a table's means are those of the time, and each is what the statistics of that time
// and part say.
func TestBinsAreMeansOfTheirTime(t *testing.T) {
	rec := made(24, 900)
	e := explorer(t, rec)
	table := answer(t, e, Query{Table: &Table{By: "ended", Metrics: []string{"minor_faults"}, Bins: 8}}).Table
	if table.From != 0 || table.To != int64(rec.Wall) || len(table.Rows) != 7 {
		t.Fatalf("from %d to %d, %d rows", table.From, table.To, len(table.Rows))
	}
	known := 0
	for _, row := range table.Rows {
		for i, mean := range row.Cells[0].Means {
			edge := func(i int) string { return formatNumber(float64(rec.Wall) * float64(i) / 8) }
			st := statsOf(t, e, "minor_faults", "ended = "+row.Key+" && begin >= "+edge(i)+" && begin < "+edge(i+1))
			if known += st.Known; mean != st.Mean && (mean.Known() || st.Mean.Known()) {
				t.Errorf("%s, bin %d: %v, want %v", row.Key, i, mean, st.Mean)
			}
		}
	}
	if want := statsOf(t, e, "minor_faults", "").Known; known != want {
		t.Errorf("%d values in all bins, want %d", known, want)
	}
}

func itoa(i int) string { return formatNumber(float64(i)) }

// Every quantum is in the bin in which a filter finds it.
func TestDensity(t *testing.T) {
	e := explorer(t, made(25, 2000))
	d := answer(t, e, Query{Density: &density{X: "duration", Y: "minor_faults", Width: 4, Height: 3}}).Density
	if s := statsOf(t, e, "duration", "known(minor_faults)"); d.XRange[0] != float64(s.Min) || d.XRange[1] != float64(s.Max) || *d.YRange != [2]float64{0, 3} {
		t.Fatalf("ranges %v and %v, want %v to %v and 0 to 3", d.XRange, d.YRange, s.Min, s.Max)
	}
	total := 0
	for y := range 3 {
		for x := range 4 {
			edge := func(i int) string { return formatNumber(d.XRange[0] + (d.XRange[1]-d.XRange[0])*float64(i)/4) }
			// The last bin includes the upper end.
			filter := "duration >= " + edge(x) + " && duration " + map[bool]string{true: "<= ", false: "< "}[x == 3] + edge(x+1) + " && minor_faults " + map[bool]string{true: ">= ", false: "= "}[y == 2] + itoa(y)
			want := len(chosen(t, e, filter))
			if got := d.Counts[y*4+x]; int(got) != want {
				t.Errorf("bin %d, %d: %d, want %d", x, y, got, want)
			}
			total += want
		}
	}
	if d.Known+d.Unknown != 2000 || total+d.Outside != d.Known || d.Unknown == 0 || d.Outside != 0 {
		t.Errorf("%d counted, %d outside, %d known, %d unknown", total, d.Outside, d.Known, d.Unknown)
	}
	// On a logarithmic axis: a seventh of the decades per bin, and zeros outside.
	d = answer(t, e, Query{Density: &density{X: "duration", Y: "1", LogX: true, Width: 7, Height: 1}}).Density
	edge := func(i int) string {
		return formatNumber(d.XRange[0] * math.Pow(d.XRange[1]/d.XRange[0], float64(i)/7))
	}
	for i, got := range d.Counts {
		filter := "duration < " + edge(i+1)
		if i == 6 {
			filter = "all"
		}
		if want := len(chosen(t, e, filter+" && duration >= "+edge(i))); int(got) != want {
			t.Errorf("bin %d of logarithms: %d, want %d", i, got, want)
		}
	}
	if zeros := len(chosen(t, e, "duration = 0")); d.Outside != zeros || zeros == 0 {
		t.Errorf("%d outside, want %d", d.Outside, zeros)
	}
}

// A lane has the group of its goroutine as its label, not that of its first quantum.
func TestLanesAreLabeledByGoroutine(t *testing.T) {
	rec := &quanta.Recording{Name: "made", Procs: 1, Wall: 1000, Groups: []quanta.Group{{Name: "stop-the-world", Kind: timeline.GC}, {Name: "main.BenchmarkX", Kind: timeline.Application}, {Name: "GC workers", Kind: timeline.GC}, {Name: "main.other", Kind: timeline.Application}}, Funcs: []string{""}}
	for i, q := range []struct {
		goroutine int64
		group     int32
		duration  int64
	}{{27, 0, 500}, {27, 1, 20}, {27, 3, 10}, {27, 1, 20}, {5, 2, 10}, {5, 0, 1}} {
		rec.Goroutine, rec.Group, rec.Duration = append(rec.Goroutine, q.goroutine), append(rec.Group, q.group), append(rec.Duration, q.duration)
		rec.Thread, rec.Proc, rec.Begin = append(rec.Thread, 1), append(rec.Proc, 0), append(rec.Begin, int64(i))
		rec.Ending, rec.Wait, rec.Func = append(rec.Ending, quanta.Blocked), append(rec.Wait, 0), append(rec.Func, 0)
	}
	got := map[string]string{}
	for _, lane := range answer(t, explorer(t, rec), Query{Lanes: &Lanes{By: "goroutine"}}).Lanes.Lanes {
		got[lane.Key] = lane.Group
	}
	if len(got) != 2 || got["27"] != "main.BenchmarkX" || got["5"] != "GC workers" {
		t.Errorf("%v", got)
	}
}

// Lanes against a brute-force computation of every pixel.
func TestLanes(t *testing.T) {
	rec := made(26, 400)
	e := explorer(t, rec)
	for _, by := range []string{"goroutine", "proc", "thread", "group"} {
		const from, to, width = 1_000_000, 5_000_000, 37
		lanes := answer(t, e, Query{Filter: "duration > 0", Lanes: &Lanes{By: by, Metric: "cycles", From: from, To: to, Width: width}}).Lanes
		busy := Value(0)
		for _, lane := range lanes.Lanes {
			busy += lane.Busy
			checkLane(t, rec, e, by, lane, from, to, width)
		}
		want := int64(0)
		for row := range rec.Len() {
			want += max(0, min(rec.Begin[row]+rec.Duration[row], to)-max(rec.Begin[row], from))
		}
		if busy != Value(want) || lanes.Omitted != 0 {
			t.Errorf("by %s: %v ns in all lanes, want %d", by, busy, want)
		}
		few := answer(t, e, Query{Filter: "duration > 0", Lanes: &Lanes{By: by, From: from, To: to, Limit: 2}}).Lanes
		if few.Omitted != len(lanes.Lanes)-2 || few.Lanes[0].Busy+few.Lanes[1].Busy+few.OmittedBusy != busy {
			t.Errorf("by %s: %d lanes omitted, %v", by, few.Omitted, few.OmittedBusy)
		}
	}
}

func checkLane(t *testing.T, rec *quanta.Recording, e *Explorer, by string, lane lane, from, to int64, width int) {
	t.Helper()
	keys, _ := e.by(by)
	busy := make([]float64, width)
	n := make([]int, width)
	for row := range rec.Len() {
		if keys.label(keys.of(row)) != lane.Key || rec.Duration[row] == 0 {
			continue
		}
		for x := range width {
			low := float64(from) + float64(to-from)*float64(x)/float64(width)
			high := float64(from) + float64(to-from)*float64(x+1)/float64(width)
			if o := min(high, float64(rec.Begin[row]+rec.Duration[row])) - max(low, float64(rec.Begin[row])); o > 1e-6 {
				busy[x] += o
				n[x]++
			}
		}
	}
	next := 0
	for _, cell := range lane.Cells {
		for x := next; x < cell.X; x++ {
			if n[x] != 0 {
				t.Errorf("%s: pixel %d is empty, but has %d quanta", lane.Key, x, n[x])
			}
		}
		sum := 0.0
		for x := cell.X; x < cell.X+cell.Width; x++ {
			sum += busy[x]
			if n[x] != cell.Quanta || (n[x] == 1) != (cell.Row >= 0) {
				t.Errorf("%s: pixel %d has %d quanta (row %d), want %d", lane.Key, x, cell.Quanta, cell.Row, n[x])
			}
		}
		if math.Abs(sum-float64(cell.Busy)) > 0.6 {
			t.Errorf("%s: pixels from %d: %d ns, want %v", lane.Key, cell.X, cell.Busy, sum)
		}
		if cell.Row >= 0 && cell.Value != Value(rec.Counter("cycles").Values[cell.Row]) {
			t.Errorf("%s: pixel %d has the value %v", lane.Key, cell.X, cell.Value)
		}
		next = cell.X + cell.Width
	}
}

// The ending of a quantum is in the cell in which it ends, if the quantum is wide enough for a glyph
// and does not continue after the picture.
func TestLanesShowHowQuantaEnded(t *testing.T) {
	rec := &quanta.Recording{Wall: 1000, Groups: []quanta.Group{{Name: "main.main"}}, Funcs: []string{""}}
	for _, q := range []struct {
		begin, duration int64
		ending          quanta.Ending
	}{{0, 200, quanta.Preempted}, {200, 30, quanta.Yielded}, {300, 100, quanta.Yielded}, {400, 105, quanta.Blocked}, {505, 95, quanta.Exited}, {700, 900, quanta.Blocked}} {
		rec.Goroutine, rec.Group, rec.Thread, rec.Proc = append(rec.Goroutine, 1), append(rec.Group, 0), append(rec.Thread, 1), append(rec.Proc, 0)
		rec.Begin, rec.Duration = append(rec.Begin, q.begin), append(rec.Duration, q.duration)
		rec.Ending, rec.Wait, rec.Func = append(rec.Ending, q.ending), append(rec.Wait, 0), append(rec.Func, 0)
	}
	// 10 ns are a pixel.
	lane := answer(t, explorer(t, rec), Query{Lanes: &Lanes{By: "goroutine", Width: 100, From: 0, To: 1000}}).Lanes.Lanes[0]
	got := map[int]quanta.Ending{}
	for _, c := range lane.Cells {
		if c.Ended != quanta.OtherEnding {
			got[c.X+c.Width] = c.Ended
		}
	}
	if want := map[int]quanta.Ending{20: quanta.Preempted, 40: quanta.Yielded, 51: quanta.Blocked, 60: quanta.Exited}; !maps.Equal(got, want) {
		t.Errorf("endings at pixels %v, want %v", got, want)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := explorer(t, made(1, 10)).Answer(ctx, Query{Filter: "duration > 1"}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// formatNumber formats a number as JSON does.
func formatNumber(v float64) string {
	text, _ := json.Marshal(Value(v)) // cannot fail
	return string(text)
}
