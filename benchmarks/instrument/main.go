// Instrument runs the tests of packages of other modules as they are and recorded by package
// instrument, and prints the table of docs/instrument.md:
//
//	go run ./benchmarks/instrument ~/src/zap . '' ~/src/bbolt . '-test.run=TestTx'
//
// Three arguments are a case: the directory of the module, the package, and the flags of the test.
// Times are the processor time of the tests, user and system: other work on the machine changes it
// less than the elapsed time. The overhead of tasks is that of an execution trace, which go test
// writes. That of locks is what a recording takes more. Each is the median of the ratios of 7
// interleaved runs with its confidence interval of 95 %, or of 3 if they are long.
//
// One more run takes the block profile and the mutex profile of the runtime beside the recording.
// They are compared with the times for which the recording shows call sites blocked for locks, and
// with what the mutex profile's definition makes of its waits for each function that releases a
// lock. A site agrees if the two sums differ by at most 3 % and 10 µs a wait. Those that do not are
// listed if the environment has SITES=1.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/instrument"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func main() {
	instrument.Wrapped()
	log.SetFlags(0)
	args := os.Args[1:]
	if len(args) == 0 || len(args)%3 != 0 {
		log.Fatal("usage: instrument [DIR PACKAGE FLAGS]...")
	}
	fmt.Println("| package | tests | as it is | tasks | locks | both | warm build | waits for locks | exact | unattributed | block profile | mutex profile |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for c := range slices.Chunk(args, 3) {
		row, err := measure(c[0], c[1], strings.Fields(c[2]))
		if err != nil {
			row = fmt.Sprintf("| %s %s | %s |", filepath.Base(c[0]), c[1], strings.ReplaceAll(err.Error(), "\n", " "))
		}
		fmt.Println(row)
	}
}

// run is the outcome of the tests.
type run struct {
	took    time.Duration // user and system
	wall    time.Duration
	results map[string]string // of each test: PASS, FAIL or SKIP
}

func measure(dir, pkg string, flags []string) (string, error) {
	temp, err := os.MkdirTemp("", "instrument-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	plain, changed := filepath.Join(temp, "plain.test"), filepath.Join(temp, "recorded.test")
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	var warm []float64
	for i := range 6 {
		began := time.Now()
		if err := build(exec.Command("go", "test", "-c", "-vet=off", "-o", plain, pkg)); err != nil {
			return "", err
		}
		between := time.Now()
		cmd, remove, err := instrument.Options{}.Command(context.Background(), "go", "test", "-c", "-vet=off", "-o", changed, pkg)
		if err != nil {
			return "", err
		}
		err = build(cmd)
		remove()
		if err != nil {
			return "", err
		}
		if i > 0 { // the cache was filled
			warm = append(warm, time.Since(between).Seconds()/between.Sub(began).Seconds())
		}
	}
	at := filepath.Join(dir, pkg)
	var as, traced, recorded []run
	var ofTasks, ofLocks, ofBoth []float64
	for i := 0; i < 3 || i < 7 && as[0].wall < 10*time.Second; i++ {
		as = append(as, test(at, plain, "", flags))
		traced = append(traced, test(at, plain, "", append([]string{"-test.trace=" + filepath.Join(temp, "plain.trace")}, flags...)))
		recorded = append(recorded, test(at, changed, temp, flags))
		ofTasks = append(ofTasks, more(traced[i], as[i]))
		ofLocks = append(ofLocks, more(recorded[i], traced[i]))
		ofBoth = append(ofBoth, more(recorded[i], as[i]))
		if err := clean(temp); err != nil {
			return "", err
		}
	}
	profiled := append([]string{"-test.blockprofile=" + filepath.Join(temp, "block"), "-test.blockprofilerate=1",
		"-test.mutexprofile=" + filepath.Join(temp, "mutex"), "-test.mutexprofilefraction=1"}, flags...)
	test(at, changed, temp, profiled)
	agreement, err := compare(temp)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s %s `%s` | %s | %.2f s | %s | %s | %s | %.2f× | %s |", filepath.Base(dir), pkg, strings.Join(flags, " "),
		outcome(as, recorded), seconds(as), interval(ofTasks), interval(ofLocks), interval(ofBoth), median.Of(warm).Median, agreement), nil
}

// more returns by how many percent a run took longer than another.
func more(r, than run) float64 { return 100 * (r.took.Seconds()/than.took.Seconds() - 1) }

// seconds returns the median of the processor times.
func seconds(runs []run) float64 {
	var s []float64
	for _, r := range runs {
		s = append(s, r.took.Seconds())
	}
	return median.Of(s).Median
}

func interval(values []float64) string {
	m := median.Of(values)
	if math.IsNaN(m.Low) {
		return fmt.Sprintf("%+.0f %%", m.Median)
	}
	return fmt.Sprintf("%+.0f %% (%+.0f to %+.0f)", m.Median, m.Low, m.High)
}

func build(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %s", err, out)
	}
	return nil
}

var verdicts = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// test runs a test binary, recorded into a directory unless that is "".
func test(dir, binary, record string, flags []string) run {
	cmd := exec.Command(binary, append([]string{"-test.v", "-test.count=1", "-test.timeout=4m"}, flags...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), instrument.Variable+"="+record)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	r := run{wall: time.Since(began), results: map[string]string{}}
	if cmd.ProcessState != nil {
		r.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	for _, m := range verdicts.FindAllSubmatch(out, -1) {
		r.results[string(m[2])] = string(m[1])
	}
	if err != nil {
		r.results["(process)"] = err.Error()
	}
	return r
}

// outcome compares the results of tests. A test counts as different if all recorded runs differ
// from all others.
func outcome(as, recorded []run) string {
	passed, differ := 0, []string{}
	names := map[string]bool{}
	for _, r := range slices.Concat(as, recorded) {
		for name := range r.results {
			names[name] = true
		}
	}
	for name := range names {
		same := false
		for i := range as {
			for j := range recorded {
				same = same || as[i].results[name] == recorded[j].results[name]
			}
		}
		if !same {
			differ = append(differ, fmt.Sprintf("%s: %q, recorded %q", name, as[0].results[name], recorded[0].results[name]))
		}
		if recorded[0].results[name] == "PASS" {
			passed++
		}
	}
	if len(differ) > 0 {
		slices.Sort(differ)
		return strings.Join(differ, "; ")
	}
	return fmt.Sprintf("%d pass, all alike", passed)
}

// clean removes the traces of a directory.
func clean(dir string) error {
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	for _, name := range traces {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return err
}

// compare analyzes the longest trace in a directory, and compares it with the runtime's profiles.
func compare(dir string) (string, error) {
	traces, err := filepath.Glob(filepath.Join(dir, "recorded.test.*.trace"))
	if err != nil || len(traces) == 0 {
		return "", fmt.Errorf("no trace in %s: %v", dir, err)
	}
	longest := slices.MaxFunc(traces, func(a, b string) int { return int(size(a) - size(b)) })
	f, err := os.Open(longest)
	if err != nil {
		return "", err
	}
	defer f.Close()
	report, err := bn.Analyze(context.Background(), f, bn.Options{Want: bn.WantContention})
	if err != nil {
		return "", err
	}
	var waited, logged, unattributed time.Duration
	n := int64(0)
	for i := range report.Contention.Waits {
		if w := &report.Contention.Waits[i]; ofLock(w.Kind) {
			if w.Flags&contention.Logged != 0 {
				logged += w.Waited
			}
			waited += w.Waited
			unattributed += w.Unattributed
			n += w.Parks
		}
	}
	blocked := &blocked{sites: map[string]time.Duration{}, waits: map[int64][]wait{}}
	if _, err := timeline.ReadFile(context.Background(), longest, timeline.Options{}, blocked); err != nil {
		return "", err
	}
	block, err := agreement(filepath.Join(dir, "block"), true, blocked.sites)
	if err != nil {
		return "", err
	}
	mutex, err := agreement(filepath.Join(dir, "mutex"), false, blocked.charges())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d, %s | %s | %s | %s | %s", n, short(waited), percent(logged, waited), percent(unattributed, waited), block, mutex), nil
}

func ofLock(k contention.Kind) bool {
	return k == contention.MutexKind || k == contention.RWMutexWriterKind || k == contention.RWMutexReaderKind || k == contention.OnceKind
}

// blocked sums the times for which goroutines were blocked for locks, by call site. It keeps what
// charges needs.
type blocked struct {
	timeline.Base
	sites  map[string]time.Duration
	parks  []*park
	waits  map[int64][]wait // by goroutine, as logged
	offset timeline.Time    // of the clock of the trace from that of the log
}

// park is the time for which a goroutine was blocked once.
type park struct {
	g          int64
	start, end timeline.Time
	semaphore  string // in the lock
	woken      string // where
}

// wait is a wait for a lock with all its parks.
type wait struct {
	lock       string
	start, end timeline.Time
}

// Transition implements [timeline.Observer].
func (b *blocked) Transition(t *timeline.Transition) {
	if t.State != timeline.Waiting || t.Stack == nil {
		return
	}
	switch t.Wait {
	case timeline.WaitMutex, timeline.WaitRWMutexWriter, timeline.WaitRWMutexReader, timeline.WaitOnce:
		b.sites[outside(t.Stack, true)] += time.Duration(t.End - t.Start)
		if t.WakerStack != nil {
			b.parks = append(b.parks, &park{t.G.ID, t.Start, t.End, t.Stack.Frames[0].Func, outside(t.WakerStack, false)})
		}
	}
}

// outside returns the call site outside package sync.
func outside(s *timeline.Stack, line bool) string {
	for _, f := range s.Frames {
		if plumbing(f.Func) {
			continue
		}
		if line {
			return siteOf(f.Func, f.Line)
		}
		return siteOf(f.Func, 0)
	}
	return ""
}

// Log implements [timeline.Observer]. Package contention/internal/waitlog documents the messages.
func (b *blocked) Log(m *timeline.Log) {
	f := strings.Fields(m.Message)
	if m.Category != "bottleneck.lock" || len(f) < 10 || f[1] != "w" {
		return
	}
	number := func(i int) timeline.Time {
		n, _ := strconv.ParseInt(f[i], 36, 64)
		return timeline.Time(n)
	}
	if offset := m.Time - number(2); b.offset == 0 || offset < b.offset {
		b.offset = offset
	}
	g := int64(number(7))
	b.waits[g] = append(b.waits[g], wait{f[3], number(8), number(8) + number(9)})
}

// lockOf returns the lock of a park: that of the latest logged wait which began before it. It
// returns "" if the wait was not logged.
func (b *blocked) lockOf(p *park) (lock string) {
	const near = 5 * timeline.Time(time.Microsecond)
	latest := timeline.Time(0)
	for _, w := range b.waits[p.g] {
		if from := w.start + b.offset - near; from >= latest && from <= p.start && p.start <= w.end+b.offset {
			lock, latest = w.lock, from
		}
	}
	return lock
}

// charges returns with how much waiting the runtime charges each function that releases a lock,
// computed from the recording as runtime/sema.go does it. A wake-up is charged with the wait of the
// first goroutine in the queue of the semaphore, and n times the mean of its wait and the last
// one's for the n others; both since the wake-up before. When the first is woken and only one
// other remains, n stays 1. So the last one of a queue is charged twice.
func (b *blocked) charges() map[string]time.Duration {
	type sleeper struct {
		*park
		since timeline.Time
	}
	type semaphore struct {
		queue  []sleeper
		others timeline.Time
	}
	type event struct {
		at timeline.Time
		*park
	}
	var events []event
	for _, p := range b.parks {
		if lock := b.lockOf(p); lock != "" {
			p.semaphore += lock
			events = append(events, event{p.start, p}, event{p.end, p})
		}
	}
	slices.SortStableFunc(events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	semaphores := map[string]*semaphore{}
	charged := map[string]time.Duration{}
	for _, e := range events {
		s := semaphores[e.semaphore]
		if s == nil {
			s = &semaphore{}
			semaphores[e.semaphore] = s
		}
		i := slices.IndexFunc(s.queue, func(x sleeper) bool { return x.park == e.park })
		switch left := len(s.queue); {
		case i >= 0: // it is woken
			wait, tail := e.at-s.queue[i].since, e.at-s.queue[i].since
			n := s.others
			s.queue = slices.Delete(s.queue, i, i+1)
			if left > 1 {
				s.queue[0].since = e.at
				tail = e.at - s.queue[left-2].since
				s.queue[left-2].since = e.at
				s.others = max(1, n-1)
			}
			charged[e.woken] += time.Duration(wait + n*(wait+tail)/2)
		case left == 0:
			s.queue, s.others = append(s.queue, sleeper{e.park, e.at}), 0
		case e.end < s.queue[0].end: // it has lost a race, and is the first again
			s.queue = slices.Insert(s.queue, 0, sleeper{e.park, s.queue[0].since})
			s.others++
		default:
			s.queue = append(s.queue, sleeper{e.park, e.at})
			s.others++
		}
	}
	return charged
}

// agreement describes a profile of the runtime, and how much of it is at call sites with which ours
// agree.
func agreement(name string, lines bool, ours map[string]time.Duration) (string, error) {
	sites, err := delays(name, lines)
	if err != nil {
		return "", err
	}
	var total, near time.Duration
	n := int64(0)
	for site, d := range sites {
		total += d.time
		n += d.n
		if math.Abs(float64(ours[site]-d.time)) <= 0.03*float64(d.time)+float64(d.n)*float64(perWait) {
			near += d.time
		} else if os.Getenv("SITES") != "" {
			log.Print(filepath.Base(name), " ", site, " ", d, ", ours ", ours[site])
		}
	}
	return fmt.Sprintf("%d, %s; %s", n, short(total), percent(near, total)), nil
}

func size(name string) int64 {
	st, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return st.Size()
}

// perWait is by how much a wait may differ from that in a profile.
const perWait = 10 * time.Microsecond

type delay struct {
	time time.Duration
	n    int64
}

// delays returns the delays for locks in a profile, by the call outside package sync, or only by its
// function.
func delays(name string, lines bool) (map[string]delay, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, err
	}
	sum := map[string]delay{}
	for _, s := range p.Sample {
		lock := false
	stack:
		for _, l := range s.Location {
			for _, line := range l.Line {
				fn := line.Function.Name
				if plumbing(fn) {
					lock = lock || strings.Contains(fn, "Mutex).")
					continue
				}
				if lock {
					site := siteOf(fn, 0)
					if lines {
						site = siteOf(fn, int(line.Line))
					}
					sum[site] = delay{sum[site].time + time.Duration(s.Value[1]), sum[site].n + s.Value[0]}
				}
				break stack
			}
		}
	}
	return sum, nil
}

// plumbing reports whether a function blocks or wakes on behalf of its caller.
func plumbing(fn string) bool {
	return strings.HasPrefix(fn, "sync.") || strings.HasPrefix(fn, "internal/sync.") || strings.HasPrefix(fn, "runtime.")
}

// written are parts of the names of functions that only profiles write, or write differently.
var written = regexp.MustCompile(`\[.*\]|\.deferwrap\d+$`)

// siteOf returns a call site in the same form for traces and profiles.
func siteOf(fn string, line int) string {
	return fmt.Sprint(strings.ReplaceAll(written.ReplaceAllString(fn, ""), "%2e", "."), ":", line)
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

func percent(part, whole time.Duration) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
