package speedup

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The bound is (Σ time running or in a system call with a processor, + idle time) ÷ wall time, for
// runs with a known answer.
func TestEstimateIsAnUpperBoundOfKnownRuns(t *testing.T) {
	for _, c := range []struct {
		what, run string
		n         int
		want      float64
	}{
		{"serial", "w 0 run; end 100", 1, 1},
		{"serial, asked about two workers", "w 0 run; end 100", 2, 1},
		{"a limit of one: workers one after the other", "w 0 run 50 exit; w 50 run 100 exit; end 100", 1, 1},
		{"ping-pong", "w 0 run 10 chan-receive 20 run 30 chan-receive 40 run; w 0 chan-receive 10 run 20 chan-receive 30 run 40 chan-receive; end 50", 2, 1},
		{"perfect", "w 0 run; w 0 run; end 100", 2, 2},
		{"half sequential", "m 0 run 50 waitgroup; w 50 run; w 50 run; end 100", 2, 1.5},
		{"a lock that is held all the time", "w 0 run 50 mutex; w 0 mutex 50 run; end 100", 2, 1},
		{"system calls that keep their processor are work", "w 0 syscall; w 0 run 50 syscall; end 100", 2, 2},
		{"another goroutine works beside the only worker that runs", "w 0 run; w 0 chan-receive; m 0 run; end 100", 2, 2},
		{"the collector works beside the workers", "w 0 run; w 0 gc 40 run; g 0 run 40 gc; end 100", 2, 2},
		{"idle time stays as it is", "w 0 run 80 mutex; w 0 run 80 mutex; end 100", 2, 1.8},
		{"all wait for different reasons", "w 0 run 80 mutex; w 0 run 80 chan-send; w 0 run 80 network; end 100", 2, 0}, // see below
	} {
		multi := accountOf(t, c.run, 4, Options{N: c.n})
		s := estimated(multi)
		checkStack(t, s)
		if c.want > 0 && s.Speedup != c.want {
			t.Errorf("%s: at most %v, want %v", c.what, s.Speedup, c.want)
		}
	}
	multi := accountOf(t, "w 0 run 80 mutex; w 0 run 80 chan-send; w 0 run 80 network; end 101", 4, Options{N: 2})
	s := estimated(multi)
	checkStack(t, s)
	if got := inWords(s.Single); s.Speedup != 261./101 || multi.Idle != 21 || !strings.Contains(got, "sync-mutex 7, sync-chan-send 7, io-network 7") {
		t.Errorf("three wait at once for 21 ns: %v, idle %v, %s", s.Speedup, multi.Idle, got)
	}
}

// The bound agrees with the areas and the idle time of package bottle, which are computed
// independently, on every trace, to the nanosecond, except for what the tracer did beside others.
func TestBoundIsAreaAndIdleTimeOfTheBottleGraph(t *testing.T) {
	for name, data := range corpus() {
		if testing.Short() && len(data) > 1<<20 || race.Enabled && len(data) > 1<<18 {
			continue
		}
		s, err := estimate(t, data, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g, err := bottle.ReadTrace(t.Context(), bytes.NewReader(data), bottle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := g.Idle - s.Multi.Tracer
		for _, b := range g.Boxes {
			want += b.Running
		}
		if beside := besideOthers(t, data); s.Multi.Tracer != beside {
			t.Errorf("%s: the tracer ran for %d beside others, want %d", name, s.Multi.Tracer, beside)
		}
		if s.Single.Wall != want || s.Multi.Idle != g.Idle || s.Multi.Wall != g.Wall {
			t.Errorf("%s: alone %d, idle %d, wall %d; the graph has %d, %d, %d", name, s.Single.Wall, s.Multi.Idle, s.Multi.Wall, want, g.Idle, g.Wall)
		}
	}
}

// besideOthers returns how long the tracer's goroutines ran while another goroutine did.
func besideOthers(t *testing.T, data []byte) (beside time.Duration) {
	o := &intervals{}
	if _, err := timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{}, o); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(o.edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var at timeline.Time
	var tracers, others int64
	for _, e := range o.edges {
		if n := tracers; n > 0 {
			if others == 0 {
				n--
			}
			beside += time.Duration(e.at-at) * time.Duration(n)
		}
		at = e.at
		if e.tracer {
			tracers += e.by
		} else {
			others += e.by
		}
	}
	return beside
}

// intervals has the times in which goroutines had a processor.
type intervals struct {
	timeline.Base
	edges []edge
}

type edge struct {
	at     timeline.Time
	by     int64
	tracer bool
}

func (o *intervals) Transition(t *timeline.Transition) {
	if t.State.Runs() {
		o.edges = append(o.edges, edge{t.Start, 1, t.G.Kind == timeline.Tracer}, edge{t.End, -1, t.G.Kind == timeline.Tracer})
	}
}

// A ping-pong is no faster with two workers. The rest of its trace is the execution tracer.
func TestTracerIsNotPartOfTheProgram(t *testing.T) {
	const pingPong = "w 0 run 50 chan-receive; w 0 chan-receive 50 run; end 100\n"
	for _, c := range []struct {
		what, run string
		want      float64
	}{
		{"alone", pingPong, 1},
		{"the tracer runs beside it", pingPong + "t 20 run 40 sleep", 1},
		{"several goroutines of the tracer do", pingPong + "t 20 run 40 sleep; t 10 run 60 sleep", 1},
		{"it runs while a player wakes up", "w 0 run 50 chan-receive; w 0 chan-receive 45 ready 55 run; t 40 run 60 sleep; end 100", 1},
		{"the runtime does", pingPong + "r 20 run 40 sleep", 1.2},
		{"a worker would run instead", "w 0 run; w 0 ready; t 0 run; end 100", 1},
		{"nothing else runs", "w 0 mutex; t 0 run; t 0 run; end 100", 1},
		{"a serial program", "m 0 run; t 0 run; end 100", 1},
		{"two workers, and the tracer", "w 0 run; w 0 run 60 mutex; t 50 run 100 sleep; end 100", 1.6},
	} {
		s := estimated(accountOf(t, c.run, 2, Options{N: 2}))
		checkStack(t, s)
		if s.Speedup != c.want {
			t.Errorf("%s: at most %v, want %v", c.what, s.Speedup, c.want)
		}
	}
}

// A program that waits for the outside world has no bound in its trace, and the result states why.
func TestRunsThatWaitForIOCannotBeEstimated(t *testing.T) {
	for _, c := range []struct{ what, run, want string }{
		{"a sleeping program", "w 0 run 10 sleep; w 0 run 10 sleep; end 100", "because nothing ran for 90% of the time"},
		{"a request loop", "w 0 run 10 network 30 run 40 network; w 0 network 20 run 30 network 50 run 60 network; end 100", "because nothing ran for 60% of the time"},
		{"workers that sleep beside one that runs", "w 0 run; w 0 sleep; end 100", "because its workers waited for timers, the network or system calls for 50% of their time"},
		{"work", "w 0 run; w 0 run 95 sleep; end 100", ""},
		{"a lock is not the world outside", "w 0 run; w 0 mutex; end 100", ""},
		{"a ping-pong whose players wake up late", "w 0 run 10 chan-receive 30 ready 40 run 50 chan-receive; w 0 chan-receive 10 ready 20 run 30 chan-receive 50 ready 60 run 70 exit; end 70", ""},
		{"main wakes up late", "w 0 run 50 chan-receive; m 0 mutex 50 ready 90 run; end 100", ""},
	} {
		err := outside(accountOf(t, c.run, 2, Options{N: 2}), workers)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != "" && (!errors.Is(err, ErrOutside) || !strings.HasPrefix(err.Error(), "the speed-up cannot be estimated from one trace, "+c.want)):
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	// Sleeping background goroutines are not workers of a serial program.
	if err := outside(accountOf(t, "m 0 run; w 0 sleep; w 0 network; end 100", 2, Options{N: 2, by: everyWorker}), everyWorker); err != nil {
		t.Error(err)
	}
}

// An unsuitable baseline and two runs of different work are reported.
func TestUnsuitablePairsAreReported(t *testing.T) {
	for _, c := range []struct{ what, single, multi, want string }{
		{"a pair", "w 0 run; end 100", "w 0 run; w 0 run; end 50", ""},
		{"one goroutine an item: more of them live at once where they wait for the one processor", "w 0 run; w 0 ready; w 0 ready; end 100", "w 0 run; w 0 run; end 50", ""},
		{"the wrong way round", "w 0 run; w 0 run; end 50", "w 0 run; end 100", "are the traces swapped?"},
		{"a baseline with company", "w 0 run; m 0 run; end 100", "w 0 run; w 0 run; end 50", "did not run alone: for 100% of its time"},
		{"twice the work", "w 0 run; end 40", "w 0 run; w 0 run; end 50", "ran for 40 ns in one run and for 100 ns in the other: goroutines may have slowed each other down, such as by writing to the same cache lines. Otherwise the two runs did different work, or the other had fewer processors of the machine than GOMAXPROCS, and"},
		{"half the work", "w 0 run; end 300", "w 0 run; w 0 run; end 50", "ran for 300 ns in one run and for 100 ns in the other: the two runs may have done different work, and"},
		{"more work, but mostly waits", "w 0 sleep 99 run; end 100", "w 0 sleep 46 run; w 0 sleep; end 50", ""},
		{"another function in one of them", "w 0 run 60 exit; m 60 run; end 100", "w 0 run; w 0 run; end 40", "main.other"},
	} {
		procs := 2
		if strings.Contains(c.what, "one processor") {
			procs = 1
		}
		one := &run{name: "one", survey: surveyOf(t, c.single, procs, workers), workers: workers, account: accountOf(t, c.single, procs, Options{N: 1})}
		many := &run{name: "many", survey: surveyOf(t, c.multi, 2, workers), workers: workers, account: accountOf(t, c.multi, 2, Options{N: 2}), info: &timeline.Info{}}
		got := strings.Join(compare(one, many), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
