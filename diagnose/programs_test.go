package diagnose_test

import (
	"bytes"
	"context"
	"fmt"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"regexp"
	"runtime"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/causes"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// record returns the trace of a function.
func record(t *testing.T, f func()) []byte {
	t.Helper()
	runtime.GC()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	f()
	trace.Stop()
	return b.Bytes()
}

// judged returns the verdict. The bottle graph independently counts for how long goroutines ran:
// the findings share at most the empty processors that it leaves, and limit the gain. The estimate
// of the speed-up cannot check this: if nothing ran until a ready goroutine started, the estimate
// has the latency of the wake-up, which grows with the load of the machine, in the time of a single
// worker. Without the wait there is none.
func judged(t *testing.T, recorded []byte) *verdict.Verdict {
	t.Helper()
	r, err := bottleneck.Analyze(context.Background(), bytes.NewReader(recorded), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Ledger.CheckValid(); err != nil {
		t.Error(err)
	}
	left := r.Ledger.Capacity
	var longest time.Duration // running time of a goroutine alone in its box, that does not only poll
	for _, b := range r.Bottle.Boxes {
		left -= b.Running
		if b.Kind == bottle.Application && b.Goroutines == 1 && b.Blocked() > 0 {
			longest = max(longest, b.Running)
		}
	}
	for _, f := range r.Verdict.Findings {
		used := r.Ledger.Capacity
		for _, i := range f.Rows {
			switch row := &r.Ledger.Rows[i]; {
			case f.Kind == diagnose.Saturated: // its rows are running time
			case row.Empty():
				left -= row.Time
				fallthrough
			default:
				used -= row.Time
			}
		}
		var saved time.Duration // by what waiting and waking takes
		if _, of, ok := strings.Cut(f.Basis, "10 µs less running for each of "); ok {
			digits, _, _ := strings.Cut(of, " ")
			waits, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
			if err != nil || waits > r.Ledger.Slices {
				t.Errorf("%s\n%d slices, and the bound is %s", f.Title, r.Ledger.Slices, f.Basis)
			}
			saved = time.Duration(waits) * 10 * time.Microsecond
		}
		if bound := float64(r.Ledger.Capacity) / float64(used-saved-overlap(r.Ledger, &f)); bound > 0 && f.Gain > bound*(1+1e-9) {
			t.Errorf("%s\ngains %.3f, and what it lost allows %.3f", f.Title, f.Gain, bound)
		}
		switch f.Kind {
		case diagnose.Lock, diagnose.Limit, diagnose.HandOver, diagnose.Sleep, diagnose.Timer, diagnose.Network:
			if ran := float64(longest-saved) * f.Gain; ran > float64(r.Bottle.Wall)*(1+1e-9) {
				t.Errorf("%s\ngains %.3f, and one goroutine ran for %v of %v", f.Title, f.Gain, longest, r.Bottle.Wall)
			}
		}
	}
	if left < 0 {
		t.Errorf("the findings promise %v more of empty processors than there are", -left)
	}
	return r.Verdict
}

// The first finding names the cause and its function.
func TestFirstFindingNamesTheCause(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	if procs < 2 {
		t.Skip("needs two processors")
	}
	all := slices.Concat(causes.Programs, programs)
	if race.Enabled {
		all = all[:8] // the race detector finds little here, and is slow
	}
	for _, p := range all {
		t.Run(strings.ReplaceAll(p.Name, " ", "-"), func(t *testing.T) {
			if p.Name == "short commands" && runtime.GOOS == "windows" {
				t.Skip("no fork there")
			}
			// Other programs may take the processors away, which the trace then shows
			// as well, and may slow down wake-ups: then it suffices that the cause is
			// among the findings. Most tries must have been disturbed then.
			const tries = 6
			missed, among := 0, 0
			var v *verdict.Verdict
			for range tries {
				before, begin := delayed(), time.Now()
				recorded := record(t, func() { p.Run(procs) })
				disturbed := delayed()-before > time.Since(begin)*time.Duration(procs)/10
				last := judged(t, recorded)
				at := found(last, p)
				if at >= 0 && !disturbed {
					title := strings.Replace(masked(naming(last, p).Title), " or were waking up", "", 1) // depends on the machine
					if want := masked(sentences[p.Name]); !slices.Contains(strings.Split(want, "\n"), title) {
						t.Errorf("the sentence is\n%s\nand not\n%s", title, want)
					}
				}
				switch {
				case at == 0, at > 0 && p.Kind == string(diagnose.Leak): // findings that cost capacity come before a leak, which costs none
					return
				case at > 0:
					among++
				case !disturbed:
					missed++
					v = last
				}
			}
			if missed > tries/2 {
				var b strings.Builder
				text.Verdict(&b, v, text.Options{Width: 100})
				t.Fatalf("want a %s in %s first:\n%s", p.Kind, p.Func, b.String())
			}
			t.Logf("a %s in %s was among the findings %d times, and never the first; else other programs took the processors away", p.Kind, p.Func, among)
		})
	}
}

// For tasks that are user regions, the finding states their number and size beside the numbers of
// the ledger.
func TestLargestTask(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	if procs < 2 || race.Enabled {
		t.Skip("needs two processors that compute")
	}
	before, begin := delayed(), time.Now()
	recorded := record(t, func() {
		var wg sync.WaitGroup
		for i := range procs {
			wg.Go(func() {
				for k := range 20 {
					steps := 1_000_000
					if i == 0 && k == 19 {
						steps = 100_000_000
					}
					trace.WithRegion(context.Background(), "piece", func() { causes.Spin(steps) })
				}
			})
		}
		wg.Wait()
	})
	if delayed()-before > time.Since(begin)*time.Duration(procs)/10 {
		t.Skip("other programs took the processors away: the workers of small tasks may have ended last")
	}
	v := judged(t, recorded)
	want := fmt.Sprintf("and the %d of them for", 20*procs)
	if !slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
		said := f.Title + " " + f.Advice
		return f.Kind == diagnose.Imbalance && strings.Contains(said, `The largest task of "piece" ran for`) && strings.Contains(said, want)
	}) {
		t.Errorf("no finding names the largest task: %+v", v.Findings)
	}
}

// delayed returns for how long threads of this process were ready without a processor, plus the time
// that the host took from a virtual machine's processors; 0 if the system does not report it.
func delayed() time.Duration {
	times, _ := schedstat.Read(os.Getpid())
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	if fields := strings.Fields(line); len(fields) > 8 {
		ticks, _ := strconv.Atoi(fields[8])
		times.Delay += time.Duration(ticks) * 10 * time.Millisecond
	}
	return times.Delay
}

// found returns the position of a program's cause among the findings, or a negative number. Causes
// that cost nothing are not first.
func found(v *verdict.Verdict, p causes.Program) int {
	f := naming(v, p)
	switch {
	case f == nil:
		return -1
	case f.Lost == 0:
		return 0
	}
	return slices.IndexFunc(v.Findings, func(other verdict.Finding) bool { return other.Title == f.Title })
}

// naming returns the finding that names the cause of a program, or nil.
func naming(v *verdict.Verdict, p causes.Program) *verdict.Finding {
	for i := range v.Findings {
		if f := &v.Findings[i]; slices.Contains(strings.Split(p.Kind, "|"), f.Kind) && at(f, p.Func) {
			return f
		}
	}
	return nil
}

// at reports whether a finding names a function.
func at(f *verdict.Finding, fn string) bool {
	for _, place := range f.Where {
		if strings.Contains(place.Func, "."+fn) {
			return true
		}
	}
	return fn == "" || strings.Contains(f.Title, "."+fn+" ")
}

// masked returns a sentence with # for its numbers, their units and what depends on them. Whether
// some of the short calls take long, and how late goroutines run, depends on the machine's load.
func masked(title string) string {
	title = literals.ReplaceAllString(writes.ReplaceAllString(title, "causes.write "), "func")
	title = numbers.ReplaceAllString(title, "#")
	return strings.NewReplacer(", and left # idle", "", "; goroutines ran for only # at a time", "", "; for #, processors had nothing else to run", "", " and then ready for #", "", "# time)", "# times)", "# call)", "# calls)", "# wait,", "# waits,").Replace(title)
}

// The names of function literals, and of their callers, depend on inlining.
var (
	writes   = regexp.MustCompile(`causes\.(init\.func\d+\.)?write[.\w]* `)
	literals = regexp.MustCompile(`(causes|diagnose_test)\.\w+(\.\w+)*\.func\d+(\.\d+)*`)
)

var numbers = regexp.MustCompile(`[<>]?\b\d([\d,.]*\d)?( ?(ns|µs|ms|s)\b|%)?`)

// pieces returns the sentences about a group of goroutines that hand over too little work at a time.
func pieces(group, at string) string {
	s := fmt.Sprintf("Tiny pieces of work: %s ran for # between one wait for others and the next, on average (# times, most at %s waits.go:#)", group, at)
	return s + ".\n" + s + "; # of the capacity went to handing over."
}

// handing returns the sentences about hand-overs, most of them for two of the groups.
func handing(end string, groups ...string) string {
	var all []string
	for _, a := range groups {
		for _, b := range groups {
			if a != b {
				all = append(all, fmt.Sprintf("Handing over: processors were idle for # of the capacity until goroutines ran that others had woken (# times), most for %s (#) and %s (#)%s.", a, b, end))
			}
		}
	}
	return strings.Join(all, "\n")
}

// sentences are the expected findings of the programs. Several lines are alternatives.
var sentences = map[string]string{
	"serial part":                         "While diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.",
	"pipeline":                            "While causes.pipeline.func2 ran alone, the other processors had nothing to do: # of the capacity.",
	"lock, computing":                     "The lock causes.counter kept # of the capacity idle (# waits, blocked for # in all).",
	"lock, sleeping":                      "The lock causes.counter kept # of the capacity idle (# waits, blocked for # in all).",
	"lock, all read":                      "The lock causes.dictionary kept # of the capacity idle (# waits, blocked for # in all).",
	"limit of an errgroup":                "A limit at causes.limited causes.go:# kept # of the capacity idle: # waited on average.",
	"semaphore":                           "A limit at causes.weighted.func1 causes.go:# kept # of the capacity idle: # waited on average.",
	"uneven work":                         "Uneven work: # of the capacity was idle while the last of the # causes.uneven.func1 ran.",
	"tiny goroutines":                     "Tiny goroutines: # of causes.tiny:# (WaitGroup.Go) ran for # each, on average; # of the capacity went to starting them and waiting for them.",
	"collector":                           "The garbage collector took # of the capacity: workers #, assists #, world stopped #, waits for it #.",
	"small writes":                        "System calls at causes.write causes.go:# held processors for # of the capacity (# calls of #).\nSystem calls at causes.write causes.go:# held processors for # of the capacity (# calls of #); while causes.Parallel.func1 ran alone, the other processors had nothing to do for #.",
	"blocking calls":                      "Waiting for system calls at diagnose_test.block block_linux_test.go:# left # of the capacity idle (# calls).\nLong system calls at diagnose_test.block block_linux_test.go:# held processors for # of the capacity, and left # idle (# calls).\nLong system calls at diagnose_test.block block_linux_test.go:# held processors for # of the capacity (# calls).",
	"sleep":                               "Sleeping at diagnose_test.sleeper causes_test.go:# left # of the capacity idle (# times).",
	"ticker":                              "Waiting for a timer at diagnose_test.ticking causes_test.go:# left # of the capacity idle (# times).",
	"network":                             "Waiting for the network at diagnose_test.listen causes_test.go:# left # of the capacity idle (# times).",
	"ping-pong":                           handing("", "diagnose_test.pingPong.func1", "diagnose_test.pingPong.func2"),
	"ping-pong of threads":                handing("; diagnose_test.pingPong.func1 always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake", "diagnose_test.pingPong.func1", "diagnose_test.pingPong.func2"),
	"goroutines that never end":           "Goroutines are started and do not end: at the end, # of # diagnose_test.forget.func1 waited at diagnose_test.forget.func1 causes_test.go:#.",
	"it scales":                           "It uses its processors: the program's own code ran for # of the capacity, most of it in causes.Parallel.func1 (#).",
	"more goroutines than processors":     "For # of the time all processors were in use and other goroutines were ready: # on average.",
	"connections to a database":           "The limit of the connections to a database, waited for at causes.load waits.go:#, kept # of the capacity idle: # waited on average while # slept at causes.statement.Query waits.go:#.",
	"a channel as a semaphore":            "A limit at causes.admit waits.go:# kept # of the capacity idle: # waited on average while # slept at causes.work waits.go:#.",
	"a token that goroutines pass":        "Goroutines of causes.Parallel.func1 wait for one another at causes.pass waits.go:#, which kept # of the capacity idle: # waited on average.",
	"a pool of workers":                   "The limit of how many causes.pool.func1 work at a time, waited for at causes.pool waits.go:#, kept # of the capacity idle: # waited on average while # slept at causes.work waits.go:#.",
	"a queue with a condition":            "While diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.",
	"done once":                           "Done once: processors had nothing to do for # of the capacity while causes.Parallel.func1 ran, which others waited for at diagnose_test.need causes_test.go:#.",
	"a barrier after each step":           "Uneven work: # of the capacity was idle while the last of the # causes.steps.func1 ran.",
	"yielding":                            "Yielding at diagnose_test.yielding.func1 causes_test.go:# took # of the capacity, from one goroutine to the next (# times).",
	"polling":                             "Waiting for a timer at diagnose_test.polling causes_test.go:# left # of the capacity idle (# times).",
	"calls on the main thread":            handing("; diagnose_test.TestFirstFindingNamesTheCause.func1 always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake", "causes.mainThread.func1", "diagnose_test.TestFirstFindingNamesTheCause.func1") + "\nWhile diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.\nWhile diagnose_test.TestFirstFindingNamesTheCause.func1 ran, and no others, the other processors had nothing to do: # of the capacity.",
	"deadlines":                           "Waiting for a timer at diagnose_test.answer causes_test.go:# left # of the capacity idle.",
	"one goroutine owns the data":         "While diagnose_test.own ran alone, the other processors had nothing to do: # of the capacity.",
	"too few goroutines":                  "Too few goroutines: while the # of diagnose_test.few.func1 ran, # at a time, other processors had nothing to do: # of the capacity.",
	"one processor":                       "GOMAXPROCS is #: for # of the time the processor was in use and other goroutines were ready: # on average.",
	"connections to a host":               "The limit of the connections to a host, waited for at causes.Get libraries.go:#, kept # of the capacity idle: # waited on average while others slept at causes.requests.func1 libraries.go:#.\nThe limit of the connections to a host, waited for at causes.Get libraries.go:#, kept # of the capacity idle: # waited on average while # slept at causes.requests.func1 libraries.go:#.",
	"an idle server":                      "Nothing to do for # of the capacity: processors were idle until requests came from the network.",
	"a journal":                           "Waiting for system calls at diagnose_test.enter causes_test.go:# left # of the capacity idle (# calls).\nWaiting for system calls at diagnose_test.enter causes_test.go:# left # of the capacity idle (# calls); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.\nSystem calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity (# calls of #).\nSystem calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity (# calls of #); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.\nLong system calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity, and left # idle (# calls).\nLong system calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity (# calls).\nLong system calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity, and left # idle (# calls); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.\nLong system calls at diagnose_test.enter causes_test.go:# held processors for # of the capacity (# calls); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.",
	"a library's lock":                    "The lock log.Logger kept # of the capacity idle (# waits, blocked for # in all).",
	"a rate":                              "Waiting for a timer at diagnose_test.(*bucket).wait causes_test.go:# left # of the capacity idle (# times, # at a time).",
	"a writer among readers":              "The lock diagnose_test.read kept # of the capacity idle (# waits, blocked for # in all).\nThe lock diagnose_test.refresh kept # of the capacity idle (# waits, blocked for # in all).",
	"a short lock":                        "The lock causes.counter kept # of the capacity idle (# waits, blocked for # in all).",
	"pulling from an iterator":            "Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is # of the capacity (# turns), most for diagnose_test.TestFirstFindingNamesTheCause.func1 (#) and diagnose_test.pulledValues (#).\nTaking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is # of the capacity (# turns), most for diagnose_test.pulledValues (#) and diagnose_test.TestFirstFindingNamesTheCause.func1 (#).",
	"the same asked at once":              "Done once for all that ask at a time (singleflight): processors had nothing to do for # of the capacity while causes.Parallel.func1 ran, which others waited for at diagnose_test.lookUp causes_test.go:#.",
	"a cache that one goroutine fills":    "The lock diagnose_test.filled kept # of the capacity idle (# waits, blocked for # in all).",
	"short commands":                      "Starting commands (os/exec) at diagnose_test.convert causes_test.go:# held processors for # of the capacity (# calls of #); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.\nStarting commands (os/exec) at diagnose_test.convert causes_test.go:# held processors for # of the capacity (# calls of #).\nStarting commands and waiting for them (os/exec) at diagnose_test.convert causes_test.go:# held processors for # of the capacity, and left # idle (# calls of #); while diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do for #.\nStarting commands and waiting for them (os/exec) at diagnose_test.convert causes_test.go:# held processors for # of the capacity, and left # idle (# calls of #).",
	"a barrier with a condition":          "Uneven work: # of the capacity was idle while the last of the # causes.Parallel.func1 ran.",
	"the same asked on one processor":     "GOMAXPROCS is #: for # of the time the processor was in use and other goroutines were ready: # on average.\nIt uses its processors: the program's own code ran for # of the capacity, most of it in causes.Parallel.func1 (#).",
	"stages of one function":              "While causes.stage.func1 ran, and no others, the other processors had nothing to do: # of the capacity.",
	"one computes, one looks":             "While diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.",
	"results that come too late":          "Goroutines are started and do not end: at the end, # of # diagnose_test.deliver waited at diagnose_test.deliver causes_test.go:#.",
	"readers that sleep":                  "The lock diagnose_test.register kept # of the capacity idle (# waits, blocked for # in all).",
	"one connection for all":              "The lock diagnose_test.peer cost # of the capacity: processors were idle for # and were in system calls under it for # (# waits, blocked for # in all).\nThe lock diagnose_test.peer kept # of the capacity idle (# waits, blocked for # in all).",
	"the world stopped":                   "The world was stopped, but not for the collector: that took # of the capacity, most at diagnose_test.measure causes_test.go:#.",
	"collections asked for":               "The garbage collector took # of the capacity: workers #, assists #, world stopped #, waits for it #; at diagnose_test.collect causes_test.go:# the program asks for it.",
	"calls one after the other":           "Waiting for the network at diagnose_test.(*peer).ask causes_test.go:# left # of the capacity idle (# times).\nWaiting for the network left # of the capacity idle (# times), most at diagnose_test.(*peer).ask causes_test.go:# (#) and diagnose_test.oneByOne.func1 causes_test.go:# (#).\nWaiting for the network left # of the capacity idle (# times), most at diagnose_test.oneByOne.func1 causes_test.go:# (#) and diagnose_test.(*peer).ask causes_test.go:# (#).\nWaiting for the network at diagnose_test.(*peer).ask causes_test.go:# left # of the capacity idle (# times, # at a time).\nWaiting for the network left # of the capacity idle (# times, # at a time), most at diagnose_test.(*peer).ask causes_test.go:# (#) and diagnose_test.oneByOne.func1 causes_test.go:# (#).\nWaiting for the network left # of the capacity idle (# times, # at a time), most at diagnose_test.oneByOne.func1 causes_test.go:# (#) and diagnose_test.(*peer).ask causes_test.go:# (#).",
	"a request under a lock":              "The lock diagnose_test.client kept # of the capacity idle (# waits, blocked for # in all).\nThe lock diagnose_test.client cost # of the capacity: processors were idle for # and were in system calls under it for # (# waits, blocked for # in all).",
	"requests past a limit":               "A limit at causes.limitedRequests libraries.go:# kept # of the capacity idle: # waited on average while # slept at causes.late libraries.go:#.",
	"asking whether it is done":           "Yielding at diagnose_test.awaited causes_test.go:# took # of the capacity, from one goroutine to the next (# times).",
	"tiny tasks":                          "Tiny tasks: # of \"small\" ran for # each, on average.",
	"tiny pieces of work":                 pieces("causes.Parallel.func1", "causes.exchange"),
	"tiny messages through one":           pieces("causes.relay", "causes.relay") + "\n" + pieces("causes.relayed.func1", "causes.relayed.func1") + "\n" + pieces("diagnose_test.TestFirstFindingNamesTheCause.func1", "causes.relayed") + "\n" + handing("", "causes.relayed.func1", "causes.relay", "diagnose_test.TestFirstFindingNamesTheCause.func1", "causes.relayed.func2"),
	"a goroutine for each call":           "Tiny goroutines: # of causes.fibonacci.func1 ran for # each, on average; # of the capacity went to starting them and waiting for them.\nTiny goroutines: # of causes.fibonacci.func1 ran for # each, on average.",
	"a lock on one processor":             "The lock diagnose_test.counter limits, not the number of processors: its owners ran for some # of the time, and # goroutines waited for it on average (# waits, blocked for # in all).",
	"one request at a time":               "While causes.render ran alone, the other processors had nothing to do: # of the capacity.\nWhile causes.render ran, and no others, the other processors had nothing to do: # of the capacity.",
	"a lock in a handler":                 "The lock diagnose_test.visits kept # of the capacity idle (# waits, blocked for # in all).",
	"a handler's lock on four processors": "The lock diagnose_test.visits kept # of the capacity idle (# waits, blocked for # in all).",
	"writes under a lock":                 "The lock log.Logger cost # of the capacity: processors were idle for # and were in system calls under it for # (# waits, blocked for # in all).",
	"one sink is slow":                    "Sleeping at causes.drain waits.go:# left # of the capacity idle (# times).",
	"a serial sum of parallel counts":     "While diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.",
	"a serial part beside a ticker":       "While diagnose_test.TestFirstFindingNamesTheCause.func1 ran alone, the other processors had nothing to do: # of the capacity.",
}
