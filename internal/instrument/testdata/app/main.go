// App contends for locks, measures by itself who waited for whom, and prints that.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/app/store"
)

type span struct {
	where    string
	from, to time.Duration
	reader   bool
}

var (
	began = time.Now()
	mu    sync.Mutex // a lock of its own, never contended for long
	waits []span
	holds []span

	rwWaits, rwHolds []span // of table
)

func note(to *[]span, s span) {
	mu.Lock()
	*to = append(*to, s)
	mu.Unlock()
}

// work calls do, which calls its argument while it holds a lock, and holds it for some time.
func work(where string, hold time.Duration, do func(func())) (wait, held span) {
	asked := time.Since(began)
	var got, end time.Duration
	do(func() {
		got = time.Since(began)
		time.Sleep(hold)
		end = time.Since(began)
	})
	return span{where, asked, got, false}, span{where, got, end, false}
}

// exclusive notes what work measures with a Mutex.
func exclusive(wait, held span) {
	note(&waits, wait)
	note(&holds, held)
}

// reads and writes note what work measures with an RWMutex.
func reads(wait, held span) {
	wait.reader, held.reader = true, true
	writes(wait, held)
}

func writes(wait, held span) {
	note(&rwWaits, wait)
	note(&rwHolds, held)
}

var shared = store.Copy(&store.Locked[int]{})

//go:noinline
func quick() {
	exclusive(work("main.quick", time.Millisecond, func(f func()) { shared.Do(func(*int) { f() }) }))
}

//go:noinline
func slow() {
	exclusive(work("main.slow", 4*time.Millisecond, func(f func()) { shared.Do(func(*int) { f() }) }))
}

var table store.Table

//go:noinline
func read() {
	reads(work("main.read", 2*time.Millisecond, func(f func()) { table.Get(0, f) }))
}

//go:noinline
func scan() {
	reads(work("main.scan", 10*time.Millisecond, func(f func()) { table.Get(0, f) }))
}

//go:noinline
func write() {
	writes(work("main.write", 3*time.Millisecond, func(f func()) { table.Put(0, f) }))
}

// spin contends for a lock that is held for so short a time that owners barge in.
func spin(l *store.Locked[int], n int) {
	for range n {
		l.Do(func(v *int) {
			for range 200 {
				*v++
			}
		})
	}
}

func main() {
	how, rounds := slices.Concat(os.Args, []string{""})[1], 30
	if how == "signal" {
		rounds = 5
	}
	signals := make(chan os.Signal, 1)
	if how == "handle" {
		signal.Notify(signals, syscall.SIGTERM)
	}
	switch how {
	case "pinned": // unlocks a mutex of package sync where a goroutine must not yield
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5_000 {
					p := new(sync.Pool) // whose first use is that
					p.Put(p)
				}
			})
		}
		wg.Wait()
		return
	case "gone":
		syscall.Exit(5)
	case "exec": // begins again
		panic(syscall.Exec(os.Args[0], []string{os.Args[0], "exit"}, os.Environ()))
	}
	stop := func() {}
	if how == "trace" { // FILE: takes a trace of its own, not of all
		trace.Stop()
		f, err := os.Create(os.Args[2])
		if err == nil {
			err = trace.Start(f)
		}
		if err != nil {
			panic(err)
		}
		stop = func() { trace.Stop(); trace.Stop(); f.Close() }
	}
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range rounds {
				if i == 0 {
					slow()
				} else {
					quick()
				}
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		wg.Go(func() {
			for range rounds {
				[]func(){read, read, scan, write, write}[i]()
			}
		})
	}
	wg.Wait()
	stop()
	logger := store.Logger(&store.Slow{Hold: time.Sleep})
	hot := &store.Locked[int]{}
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				logger.Print(i)
				table.Put(j, func() { time.Sleep(100 * time.Microsecond) })
				table.Get(j, func() {})
			}
			spin(hot, 20000)
		})
	}
	wg.Wait()
	truth := map[string]any{"Blamed": blamed(), "Block": profileOf("block", runtime.BlockProfile), "Mutex": profileOf("mutex", runtime.MutexProfile)}
	if err := json.NewEncoder(os.Stdout).Encode(truth); err != nil {
		panic(err)
	}
	switch how {
	case "exit":
		os.Exit(3)
	case "fatal":
		log.Fatal("the end")
	case "panic":
		go panic("the end")
		select {}
	case "unlock":
		new(sync.Mutex).Unlock()
	case "signal": // PID NUMBER: sends a signal to a process that passes it on to this one
		pid, _ := strconv.Atoi(os.Args[2])
		number, _ := strconv.Atoi(os.Args[3])
		to, err := os.FindProcess(pid)
		if err == nil {
			err = to.Signal(syscall.Signal(number))
		}
		if err != nil {
			panic(err)
		}
		time.Sleep(20 * time.Second)
		panic("no signal came")
	case "hang":
		time.Sleep(time.Minute)
	case "print": // until a reader of the output is gone
		for {
			os.Stdout.WriteString("more\n")
		}
	case "handle":
		<-signals
		os.Exit(4)
	}
}

// blamed returns for how many nanoseconds those at one place waited for those at another.
func blamed() map[string]time.Duration {
	sum := map[string]time.Duration{}
	for _, w := range waits {
		for _, h := range holds {
			if d := min(w.to, h.to) - max(w.from, h.from); d > 0 {
				sum[w.where+" for "+h.where] += d
			}
		}
	}
	admit()
	for _, w := range rwWaits {
		split(sum, w)
	}
	return sum
}

// admit makes the waits of readers that a writer lets in end, and their holds begin, when it leaves.
func admit() {
	for i := range rwWaits {
		w := &rwWaits[i]
		for _, before := range rwHolds {
			if w.reader && !before.reader && before.to > w.from && before.to < w.to {
				h := slices.IndexFunc(rwHolds, func(h span) bool { return h.where == w.where && h.from == w.to })
				w.to, rwHolds[h].from = before.to, before.to
			}
		}
	}
}

// split adds the parts of a wait for an RWMutex. At any time, a writer is to blame alone, and n
// readers each for 1/n; for the wait of a reader, the next writer has a share, too.
func split(sum map[string]time.Duration, w span) {
	edges := []time.Duration{w.from, w.to}
	for _, h := range rwHolds {
		for _, at := range []time.Duration{h.from, h.to} {
			if at > w.from && at < w.to {
				edges = append(edges, at)
			}
		}
	}
	slices.Sort(edges)
	for i := range edges[1:] {
		from, to := edges[i], edges[i+1]
		var owners []string
		next := span{from: 1 << 62}
		readers := false
		for _, h := range rwHolds {
			if h.from <= from && h.to >= to {
				owners = append(owners, h.where)
				readers = readers || h.reader
			}
			if !h.reader && h.from >= to && h.from < next.from {
				next = h
			}
		}
		if w.reader && readers && next.where != "" {
			owners = append(owners, next.where)
		}
		for _, o := range owners {
			sum[w.where+" for "+o] += (to - from) / time.Duration(len(owners))
		}
	}
}

// profile is a profile of the runtime's: of waits by what asked for a lock, or by what released it.
type profile struct {
	Parks map[string]int64         // by the function that calls package sync
	Time  map[string]time.Duration // by the function that measures
}

// profileOf returns the profile called block or mutex, which read reads.
func profileOf(name string, read func([]runtime.BlockProfileRecord) (int, bool)) profile {
	var text strings.Builder
	var perSecond float64 // cycles
	pprof.Lookup(name).WriteTo(&text, 1)
	_, rest, _ := strings.Cut(text.String(), "cycles/second=")
	if _, err := fmt.Sscan(rest, &perSecond); err != nil {
		panic(err)
	}
	records := make([]runtime.BlockProfileRecord, 1000)
	n, ok := read(records)
	if !ok {
		panic("too many records")
	}
	p := profile{map[string]int64{}, map[string]time.Duration{}}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		caller, lock := "", false
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			lock = lock || strings.Contains(f.Function, "Mutex).")
			if !lock {
				break
			}
			if caller == "" && !strings.Contains(f.Function, "sync.(*") {
				caller = f.Function
				p.Parks[caller] += r.Count
			}
			switch f.Function {
			case "main.slow", "main.quick", "main.read", "main.scan", "main.write":
				p.Time[f.Function] += time.Duration(float64(r.Cycles) / perSecond * 1e9)
			}
		}
	}
	return p
}
