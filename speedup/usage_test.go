package speedup_test

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// used returns a stack of 4 workers with counts; a wall time of 4 ms for each operation.
func used(synchronization float64, single, multi map[string]float64) *speedup.Stack {
	s := &speedup.Stack{N: 4, Speedup: 2, Remainder: 2 - synchronization, Warnings: []string{}}
	s.Components[speedup.SyncMutex] = synchronization
	multi["wall-time"], single["wall-time"] = 4e6, 8e6
	s.Explain(&speedup.Usage{Per: "operation", Single: single, Multi: multi, Missing: "there is none"})
	return s
}

const ms = 1e6

// TestNextStep: programs of a known cause, by their counts.
func TestNextStep(t *testing.T) {
	type counts = map[string]float64
	hardware := func(time, cycles, instructions float64) counts {
		return counts{"processor-time": time, "user-time": time, "system-time": 0, "cycles": cycles, "instructions": instructions, "cache-misses": cycles / 1000}
	}
	software := func(user, system, faults, switches float64) counts {
		return counts{"processor-time": user + system, "user-time": user, "system-time": system, "page-faults": faults, "voluntary-switches": switches, "involuntary-switches": 1}
	}
	for _, c := range []struct {
		name  string
		stack *speedup.Stack
		want  []string
	}{
		{"atomics", used(0, hardware(8*ms, 24e6, 48e6), hardware(16*ms, 48e6, 48e6)),
			[]string{"Processor time per operation grows from 8 ms to 16 ms: an estimated 2.00 of 4 goes with it", "cycles for each from 0.5 to 1, with cache misses from 24k to 48k", "give each worker its own"}},
		{"work grows", used(0, hardware(8*ms, 24e6, 48e6), hardware(16*ms, 48e6, 96e6)), []string{"the work grows: instructions from 48M to 96M", "once for each worker"}},
		{"slow clock", used(0, hardware(8*ms, 24e6, 48e6), hardware(16*ms, 24e6, 48e6)), []string{"the clock of the processors is slower"}},
		{"arenas", used(0, software(8*ms, 1*ms, 1000, 10), software(8*ms, 4*ms, 4000, 11)),
			[]string{"grows from 9 ms to 12 ms: an estimated 0.75 of 4", "in the kernel, with page faults from 1k to 4k: workers touch new memory"}},
		{"switches in the kernel", used(0, software(8*ms, 1*ms, 1000, 10), software(8*ms, 4*ms, 1010, 900)), []string{"in the kernel, with context switches from 10 to 900"}},
		{"system calls", used(0, software(8*ms, 1*ms, 1000, 10), software(8*ms, 4*ms, 1001, 11)), []string{"mostly in the kernel. Next: compare CPU profiles", "system calls"}},
		{"atomics without a PMU", used(0, software(8*ms, 0, 10, 10), software(16*ms, 0, 10, 10)), []string{"mostly in user mode", "atomics; instructions, which would distinguish these, are not counted: there is none. Next", "longer for the same calls"}},
		{"only the total", used(0, counts{"processor-time": 8 * ms}, counts{"processor-time": 16 * ms}), []string{"for reasons that a run of less than a second of processor time does not show"}},
		{"lock", used(1.9, software(8*ms, 0, 10, .04), software(8.1*ms, 0, 10, 40)),
			[]string{"Processor time per operation hardly grows (from 8 ms to 8.1 ms). Context switches per operation grow from 0.04 to 40: threads sleep and wake up while goroutines wait for each other. Next: let"}},
		{"lock that spins", used(1.9, software(8*ms, 0, 10, 1), software(16*ms, 0, 10, 40)), []string{"mostly in user mode", "for the same calls. Context switches per operation grow from 1 to 40"}},
		{"other programs", used(0, software(8*ms, 0, 10, 1), software(8.4*ms, 0, 10, 1.5)), []string{"hardly grows (from 8 ms to 8.4 ms). An estimated 1.90 of the remainder is time in which goroutines seemed to run"}},
		{"little of it", used(1.9, software(.08*ms, 0, 10, .04), software(.12*ms, 0, 10, 3)), []string{"grows from 80 µs to 120 µs, but only an estimated 0.01 of 4 goes with it: the loss, if any, is not work."}},
		{"it scales", used(2, software(8*ms, 0, 10, 1), software(8.1*ms, 0, 10, 1.5)), []string{"hardly grows (from 8 ms to 8.1 ms): the loss, if any, is not work."}},
		{"no single run", used(0, map[string]float64{}, software(8*ms, 0, 10, 1)), []string{""}},
	} {
		got := c.stack.Next
		for _, want := range c.want {
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got)
			}
		}
	}
	s := &speedup.Stack{N: 2}
	if s.Explain(nil); s.Next != "" || s.Growth() != nil || speedup.UsageTable(s) != nil {
		t.Error("a stack without counts explains something")
	}
}

// TestGrowthSums: the parts of N that go with the growth sum to that of the processor time, which
// is the difference of the times ÷ the wall time.
func TestGrowthSums(t *testing.T) {
	all := func(suffix string, user, system, cycles, instructions float64) map[string]float64 {
		return map[string]float64{"processor-time": user + system, "user-time": user, "system-time": system, "cycles" + suffix: cycles, "instructions" + suffix: instructions}
	}
	for _, suffix := range []string{"", ":u", "none"} {
		s := used(0, all(suffix, 8*ms, 1*ms, 20e6, 30e6), all(suffix, 13*ms, 2*ms, 31e6, 70e6))
		sum, parts, total := 0.0, []string{}, 0.0
		for _, g := range s.Growth() {
			switch {
			case g.Name == "processor-time":
				total = g.Lost
			case !math.IsNaN(g.Lost):
				sum += g.Lost
				parts = append(parts, g.Name)
			}
		}
		want := map[string][]string{"": {"instructions", "cycles-per-instruction", "time-per-cycle"},
			":u": {"system-time", "instructions", "cycles-per-instruction", "time-per-cycle"}, "none": {"user-time", "system-time"}}[suffix]
		if !slices.Equal(parts, want) || math.Abs(total-6./4) > 1e-12 || math.Abs(sum-total) > 1e-12 {
			t.Errorf("%q: %q sum to %v, want %v of %q", suffix, parts, sum, total, want)
		}
	}
}

// TestUsageIsInTheTable: the counts are in the table, the measures, the texts and the JSON of a
// stack, and change nothing without.
func TestUsageIsInTheTable(t *testing.T) {
	s := used(0, map[string]float64{"processor-time": 8 * ms, "page-faults": 10}, map[string]float64{"processor-time": 16 * ms, "page-faults": 40, "migrations": 0.02})
	row := func(table *result.Table, part, column string) (result.Value, bool) {
		at := slices.IndexFunc(table.Columns, func(h result.Head) bool { return h.Name == column })
		for _, r := range table.Rows {
			if slices.ContainsFunc(r, func(c result.Value) bool { return c.Text == part }) && at >= 0 {
				return r[at], true
			}
		}
		return result.Value{}, false
	}
	table := speedup.Table(s)
	for _, c := range []struct {
		part, column string
		want         float64
	}{{"page-faults", "single", 10}, {"page-faults", "multi", 40}, {"page-faults", "growth", 4}, {"processor-time", "lost", 2}, {"migrations", "multi", .02}} {
		if got, _ := row(table, c.part, c.column); !got.Known || got.Float != c.want {
			t.Errorf("%s of %s is %+v, want %v", c.column, c.part, got, c.want)
		}
	}
	for _, unknown := range [][2]string{{"migrations", "single"}, {"page-faults", "lost"}, {"page-faults", "value"}, {"remainder", "growth"}} {
		if got, ok := row(table, unknown[0], unknown[1]); !ok || got.Known {
			t.Errorf("%s of %s is %+v, want it unknown", unknown[1], unknown[0], got)
		}
	}
	for _, c := range speedup.UsageColumns() {
		want := map[string]float64{"processor-time-growth": 2, "page-faults-growth": 4}
		if v, known := c.Value(s); known != (want[c.Name] > 0) || known && v.Float != want[c.Name] {
			t.Errorf("%s is %v, %v", c.Name, v, known)
		}
	}
	rows := speedup.UsageTable(s)
	want := [][]string{{"per operation", "1", "4", "growth", "lost"}, {"wall time", "8 ms", "4 ms", "0.5x", ""}, {"processor time", "8 ms", "16 ms", "2x", "2.00"}, {"page faults", "10", "40", "4x", ""}, {"migrations", "", "0.02", "", ""}}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
	var b bytes.Buffer
	if err := speedup.WriteJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if back, err := speedup.ReadJSON(&b); err != nil || !reflect.DeepEqual(back[0], s) {
		t.Errorf("%+v, %v", back, err)
	}
	changes := speedup.Changes(s, s)
	if _, ok := row(changes, "page-faults", "part"); ok {
		t.Error("a count is among the parts that sum to N")
	}
	s.Usage.Multi["page-faults"] = -1
	if err := s.CheckValid(); err == nil || !strings.Contains(err.Error(), "usage.page-faults is out of range") {
		t.Error(err)
	}
	if s.Usage = nil; len(speedup.Table(s).Columns) != len(table.Columns)-4 {
		t.Error("a stack without counts has columns for them")
	}
}
