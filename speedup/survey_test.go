package speedup

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func surveyOf(t testing.TB, text string, procs int, by selector) *survey {
	t.Helper()
	s := newSurvey(by)
	parseWords(t, text).play(t, procs, s)
	return s
}

func TestChoice(t *testing.T) {
	for _, tt := range []struct {
		what, run string
		procs     int
		want      string
		lanes     int
	}{
		{"the larger group, though main ran longer", "m 0 run; w 0 run 20 sleep; w 0 run; end 30", 4, "main.work", 2},
		{"no more lanes than processors", "w 0 run; w 0 ready; w 0 ready; end 30", 2, "main.work", 3 - 1},
		{"GOMAXPROCS is not known", "w 0 run; w 0 ready; w 0 ready; end 30", 0, "main.work", 3},
		{"one after the other is no group", "w 0 run 10 exit; w 10 run 20 exit; end 30", 2, "main.work", 1},
		{"what the collector does is none", "g 0 run; g 0 run; w 0 run; end 30", 2, "main.work", 1},
		{"ping-pong of two functions", "m 0 run 10 chan-receive; w 0 chan-receive 10 run; end 20", 2, "main.other,main.work", 2},
		{"two stages", "m 0 run; w 0 run 10 chan-receive; end 20", 2, "main.other,main.work", 2},
		{"one after the other is no pipeline", "m 0 run 10 exit; w 10 run; end 20", 2, "main.other,main.work", 1},
		{"main waits for a single worker: no pipeline", "m 0 run 1 waitgroup; w 1 run; end 50", 2, "main.work", 1},
		{"no goroutine of the program", "g 0 run; g 0 run; end 30", 2, "", 0},
		{"the larger of two groups", "m 0 run; m 0 run 5 sleep; w 0 run 20 exit; w 0 run 10 exit; end 30", 2, "main.other", 2},
	} {
		s := surveyOf(t, tt.run, tt.procs, selector{})
		by, err := s.Workers()
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "name the workers") {
				t.Errorf("%s: %v, %v", tt.what, by, err)
			}
			continue
		}
		if err != nil || by.String() != tt.want || s.Lanes(by) != tt.lanes {
			t.Errorf("%s: %v, %d lanes, %v; want %s, %d", tt.what, by, s.Lanes(by), err, tt.want, tt.lanes)
		}
	}
}

func TestSelectors(t *testing.T) {
	const run = `w 0 run 10 mutex 20 run 30 exit
		w 0 run 5 (parse 25 )
		m 5 run 5 (index@indexers 10 ) 12 sleep
		g 0 run 3 gc
		end 30`
	for _, tt := range []struct {
		selector, want string
		peak, workers  int
	}{
		{"main.work", "run 50, sync-mutex 10", 2, 2},
		{"work", "", 0, 0},
		{"main.work,main.other", "run 57, sync-mutex 3", 3, 3}, // lanes are shared
		{"/work$/", "run 50, sync-mutex 10", 2, 2},
		{"all goroutines", "run 57, sync-mutex 3", 3, 3},
		{"region:parse", "run 20, sequential 20, imbalance 20", 1, 1},
		{"pool:indexers", "run 7, sequential 46, imbalance 7", 1, 1},
	} {
		by, err := parseSelector(tt.selector)
		if err != nil || by.String() != tt.selector {
			t.Errorf("%s: %v, %v", tt.selector, by, err)
			continue
		}
		s := surveyOf(t, run, 4, by)
		if peak, n := s.Peak(by); peak != tt.peak || n != tt.workers {
			t.Errorf("%s: %d workers, %d at the same time; want %d, %d", tt.selector, n, peak, tt.workers, tt.peak)
		}
		if tt.peak == 0 {
			continue
		}
		a := accountOf(t, run, 4, Options{N: 2, by: by})
		if got := inWords(a); tt.peak <= 2 && got != tt.want || a.Workers != tt.workers || a.Peak != tt.peak {
			t.Errorf("%s: %s, %d workers, peak %d; want %s", tt.selector, got, a.Workers, a.Peak, tt.want)
		}
	}
	for _, bad := range []string{"pool:", "region:", "/(/", "a,,b", ","} {
		if _, err := parseSelector(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
	for _, auto := range []string{"", "auto"} {
		if by, err := parseSelector(auto); err != nil || by.String() != "auto" {
			t.Errorf("%q: %v, %v", auto, by, err)
		}
	}
	g := &timeline.Goroutine{Func: "example.com/cmd/v2.work", Kind: timeline.Application}
	if !byFunction("cmd.work").selects(g) || !byRegexp(regexp.MustCompile("work")).selects(g) || byFunction("v2.work").selects(g) {
		t.Error("short names")
	}
	if (selector{}).selects(g) || byFunction("").selects(&timeline.Goroutine{}) {
		t.Error("selects what it should not")
	}
}

// A goroutine that is named late becomes a worker then.
func TestNamedLate(t *testing.T) {
	g := &timeline.Goroutine{ID: 1}
	o, s := newObserver(Options{N: 1, by: workers}), newSurvey(workers)
	for _, ob := range []timeline.Observer{o, s} {
		g.Func = ""
		ob.Begin(0, 0)
		setState(g, timeline.Running, timeline.WaitNone)
		ob.Transition(&timeline.Transition{G: g, To: timeline.Running})
		g.Func = "main.work"
		ob.Named(g, 4)
		setState(g, timeline.Unknown, timeline.WaitNone)
		ob.Transition(&timeline.Transition{G: g, State: timeline.Running, End: 10})
		ob.End(10)
	}
	if got := inWords(o.Account()); got != "run 6, sequential 4" {
		t.Error(got)
	}
	if s.chosen.running != 6 {
		t.Error(s.chosen.running)
	}
}

// The conditions that make a pair of runs suspicious.
func TestWarnings(t *testing.T) {
	const two = "w 0 run 0 (unit 10 ) ; w 0 run; end 20"
	for _, tt := range []struct {
		what, single, multi string
		procsOne, procs, n  int
		want                string
	}{
		{"a good pair", "w 0 run 0 (unit 10 ) ; end 40", two, 1, 2, 2, ""},
		{"swapped, by workers", two, "w 0 run 0 (unit 10 ) ; end 40", 2, 1, 1, "the single-threaded run has 2 workers on 2 processors, the run with many workers has 1 on 1: are the traces swapped?"},
		{"swapped, by processors", two, two, 2, 1, 2, "are the traces swapped?"},
		{"not single-threaded", two, two, 2, 2, 2, "is not single-threaded: 2 workers lived at the same time, on 2 processors"},
		{"several workers on one processor are single-threaded", two, two, 1, 2, 2, ""},
		{"a goroutine an item, one at a time", "w 0 run 10 exit; w 0 mutex 10 run 20 exit; w 0 mutex 20 run 30 exit; end 30", "w 0 run 15 exit; w 0 run 15 exit; end 15", 2, 2, 2, ""},
		{"different programs", "m 0 run; end 40", two, 1, 2, 2, "different programs"},
		{"different numbers of regions", "w 0 run 0 (unit 10 ) 20 (unit 30 ) ; end 40", two, 1, 2, 2, `The two runs did different work: 2 regions of type "unit" against 1.`},
		{"less running time", "w 0 run 0 (unit 10 ) ; end 60", two, 1, 2, 2, "ran for 60 ns in one run and for 40 ns in the other"},
		{"a number that was never reached", "w 0 run 0 (unit 10 ) ; end 40", two, 1, 4, 4, "The run never reached 4 workers: at most 2 lived at the same time."},
		{"numbers of processors that are not known", two, "w 0 run 0 (unit 10 ) ; end 40", 0, 0, 1, "the single-threaded run has 2 workers, the run with many workers has 1: are the traces swapped?"},
		{"not single-threaded, on processors that are not known", two, two, 0, 2, 2, "is not single-threaded: 2 workers lived at the same time. The"},
		{"more lanes than processors", "w 0 run 0 (unit 10 ) ; end 40", two, 1, 1, 2, "GOMAXPROCS was 1: no more than that of the 2 workers"},
	} {
		pair := [2]*run{{name: "the single-threaded run"}, {name: "the run with many workers"}}
		for i, r := range pair {
			text, procs, n := tt.single, tt.procsOne, 1
			if i == 1 {
				text, procs, n = tt.multi, tt.procs, tt.n
			}
			r.survey, r.workers, r.info = surveyOf(t, text, procs, workers), workers, &timeline.Info{}
			r.account = accountOf(t, text, procs, Options{N: n})
		}
		got := strings.Join(compare(pair[0], pair[1]), " ")
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// Runs with more region types than are counted are not reported as different because of the
// uncounted ones.
func TestTypesBeyondTheBound(t *testing.T) {
	var pair [2]*run
	for i := range pair {
		r := &run{survey: newSurvey(workers), account: &account{}}
		for n := range maxTypes + 5 {
			if i == 1 {
				n = maxTypes + 4 - n
			}
			r.survey.Region(&timeline.Span{Begin: true, Name: fmt.Sprint("request ", n)})
		}
		pair[i] = r
	}
	if w := differentWork(pair[0], pair[1]); len(w) > 0 {
		t.Error(w)
	}
	pair[0].survey.regions["request 500"]++
	if w := differentWork(pair[0], pair[1]); len(w) != 1 {
		t.Errorf("one more of a type that both runs have: %q", w)
	}
}

// The error says so if there is no candidate.
func TestNoCandidates(t *testing.T) {
	m := &run{name: "one.trace", survey: surveyOf(t, "g 0 run; end 30", 2, selector{})}
	_, err := Options{}.chosen(m)
	if err == nil || !strings.HasSuffix(err.Error(), "; there are no start functions but that of main") {
		t.Error(err)
	}
}

// Goroutines that come one after the other are counted one by one, and so is their waiting.
func TestManyWorkers(t *testing.T) {
	text := ""
	for range 1000 {
		text += "w 0 run 10 mutex 20 exit;"
	}
	a := accountOf(t, text+"w 0 run;end 30", 4, Options{N: 4})
	if a.Workers != 1001 || a.Peak != 1001 {
		t.Errorf("%d workers, %d at a time", a.Workers, a.Peak)
	}
}
