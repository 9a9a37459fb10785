// Instrument runs the tests of packages of other modules as they are and recorded by package
// instrument, and prints the table of docs/instrument.md:
//
//	go run ./benchmarks/instrument ~/src/zap . '' ~/src/bbolt . '-test.run=TestTx'
//
// Three arguments are a case: the directory of the module, the package, and the flags of the test.
// Times are the processor time of the tests, user and system: other work on the machine changes it
// less than the elapsed time. The overhead of tasks is that of an execution trace, which go test
// writes. That of locks is what a recording takes more. Each is the median of the ratios of 7
// interleaved runs with its confidence interval of 95 %, or of at least 3 in 30 seconds. The last row
// has the medians of the cases, of processor time and of elapsed time.
//
// One more run takes the block profile and the mutex profile of the runtime beside the recording.
// They are compared with the times for which the recording shows call sites blocked for locks, and
// with what the mutex profile's definition makes of its waits for each function that releases a
// lock. A site agrees if the two sums differ by at most 3 %. Those that do not are
// listed if the environment has SITES=1. With -waits, this run is the only one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/mutexprofile"
	"github.com/bottleneck-go/bottleneck/timeline"
)

var waits = flag.Bool("waits", false, "only compare the waits with the profiles of the runtime")

func main() {
	instrument.Wrapped()
	log.SetFlags(0)
	flag.Parse()
	args := flag.Args()
	if len(args) == 0 || len(args)%3 != 0 {
		log.Fatal("usage: instrument [-waits] [DIR PACKAGE FLAGS]...")
	}
	compared := "waits for locks | exact | unattributed | block profile | mutex profile |"
	if *waits {
		fmt.Println("| package | " + compared + "\n|---|---|---|---|---|---|")
	} else {
		fmt.Println("| package | tests | as it is | tasks | locks | both | warm build | " + compared + "\n|---|---|---|---|---|---|---|---|---|---|---|---|")
	}
	var took, wall overheads // the medians of the cases
	var warm []float64
	for c := range slices.Chunk(args, 3) {
		r := &result{}
		if err := r.measure(c[0], c[1], strings.Fields(c[2])); err != nil {
			fmt.Printf("| %s %s | %s |\n", filepath.Base(c[0]), c[1], strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(r.row)
		if *waits {
			continue
		}
		warm = append(warm, r.warm)
		took.addMedians(&r.took)
		wall.addMedians(&r.wall)
	}
	if *waits {
		return
	}
	fmt.Printf("| **median** | | | %s | %.2f× |\n", took.String(), median.Of(warm).Median)
	fmt.Printf("| **median, elapsed time** | | | %s | |\n", wall.String())
}

// overheads has by how many percent runs took longer with a trace, recorded than with a trace, and
// recorded than without.
type overheads struct{ tasks, locks, both []float64 }

func (o *overheads) add(as, traced, recorded time.Duration) {
	more := func(d, than time.Duration) float64 { return 100 * (d.Seconds()/than.Seconds() - 1) }
	o.tasks = append(o.tasks, more(traced, as))
	o.locks = append(o.locks, more(recorded, traced))
	o.both = append(o.both, more(recorded, as))
}

func (o *overheads) addMedians(of *overheads) {
	o.tasks = append(o.tasks, median.Of(of.tasks).Median)
	o.locks = append(o.locks, median.Of(of.locks).Median)
	o.both = append(o.both, median.Of(of.both).Median)
}

func (o *overheads) String() string {
	return interval(o.tasks) + " | " + interval(o.locks) + " | " + interval(o.both)
}

// result is the result of a case.
type result struct {
	took, wall overheads
	warm       float64 // a build, as a multiple of one without a recording
	row        string
}

// run is the outcome of the tests.
type run struct {
	took    time.Duration // user and system
	wall    time.Duration
	results map[string]string // of each test: PASS, FAIL or SKIP
}

func (r *result) measure(dir, pkg string, flags []string) error {
	temp, err := os.MkdirTemp("", "instrument-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	plain, changed, traces := filepath.Join(temp, "plain.test"), filepath.Join(temp, "recorded.test"), filepath.Join(temp, "traces")
	if err := os.Mkdir(traces, 0o777); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	at := filepath.Join(dir, pkg)
	builds := 6
	if *waits {
		builds = 1
	}
	var warm []float64
	for i := range builds {
		began := time.Now()
		if err := build(exec.Command("go", "test", "-c", "-vet=off", "-o", plain, pkg)); err != nil {
			return err
		}
		between := time.Now()
		cmd, err := instrument.Options{}.Command(context.Background(), "go", "test", "-c", "-vet=off", "-o", changed, pkg)
		if err != nil {
			return err
		}
		if err := build(cmd); err != nil {
			return err
		}
		if i > 0 { // the cache was filled
			warm = append(warm, time.Since(between).Seconds()/between.Sub(began).Seconds())
		}
	}
	var as, traced, recorded []run
	var seconds []float64
	began := time.Now()
	for i := 0; !*waits && (i < 3 || i < 7 && time.Since(began) < 30*time.Second); i++ {
		as = append(as, test(at, plain, "", flags))
		traced = append(traced, test(at, plain, "", append([]string{"-test.trace=" + filepath.Join(traces, "plain")}, flags...)))
		recorded = append(recorded, test(at, changed, traces, flags))
		seconds = append(seconds, as[i].took.Seconds())
		r.took.add(as[i].took, traced[i].took, recorded[i].took)
		r.wall.add(as[i].wall, traced[i].wall, recorded[i].wall)
		if err := errors.Join(os.RemoveAll(traces), os.Mkdir(traces, 0o777)); err != nil {
			return err
		}
	}
	profiled := append([]string{"-test.blockprofile=" + filepath.Join(traces, "block"), "-test.blockprofilerate=1",
		"-test.mutexprofile=" + filepath.Join(traces, "mutex"), "-test.mutexprofilefraction=1"}, flags...)
	test(at, changed, traces, profiled)
	agreement, err := compare(traces)
	if err != nil {
		return err
	}
	if *waits {
		r.row = fmt.Sprintf("| %s %s `%s` | %s |", filepath.Base(dir), pkg, strings.Join(flags, " "), agreement)
		return nil
	}
	r.warm = median.Of(warm).Median
	r.row = fmt.Sprintf("| %s %s `%s` | %s | %.2f s | %s | %.2f× | %s |", filepath.Base(dir), pkg, strings.Join(flags, " "),
		outcome(as, recorded), median.Of(seconds).Median, r.took.String(), r.warm, agreement)
	return nil
}

func interval(values []float64) string { return median.Of(values).Text("%+.0f %%") }

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

// compare analyzes the longest trace in a directory, and compares it with the runtime's profiles.
func compare(dir string) (string, error) {
	traces, err := filepath.Glob(filepath.Join(dir, "recorded.test.*.trace"))
	if err != nil || len(traces) == 0 {
		return "", fmt.Errorf("no trace in %s: %v", dir, err)
	}
	var longest string
	var most int64
	for _, name := range traces {
		if st, err := os.Stat(name); err == nil && st.Size() > most {
			longest, most = name, st.Size()
		}
	}
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
	for _, w := range report.Contention.Filter(locks, nil, 0).Waits {
		if w.Flags&contention.Logged != 0 {
			logged += w.Waited
		}
		waited += w.Waited
		unattributed += w.Unattributed
		n += w.Parks
	}
	blocked := &mutexprofile.Observer{
		Waits: func(s *timeline.Stack) string { return outside(s, true) },
		Wakes: func(s *timeline.Stack) string { return outside(s, false) },
	}
	if _, err := timeline.ReadFile(context.Background(), longest, timeline.Options{}, blocked); err != nil {
		return "", err
	}
	block, err := agreement(filepath.Join(dir, "block"), true, blocked.Block(), nil)
	if err != nil {
		return "", err
	}
	charged, unknown := blocked.Mutex()
	mutex, err := agreement(filepath.Join(dir, "mutex"), false, charged, unknown)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d, %s | %s | %s | %s | %s", n, short(waited), percent(logged, waited), percent(unattributed, waited), block, mutex), nil
}

var locks = []string{contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind}

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

// agreement describes a profile of the runtime, and how much of it is at call sites with which ours
// agree. Of unknown waits, the lock is not in the recording.
func agreement(name string, lines bool, ours mutexprofile.Times, unknown map[string]int) (string, error) {
	sites, err := delays(name, lines)
	if err != nil {
		return "", err
	}
	var total, near time.Duration
	n := int64(0)
	for site, d := range sites {
		total += d.time
		n += d.n
		if float64(ours.Differ(site, d.time)) <= 0.03*float64(d.time) {
			near += d.time
		} else if os.Getenv("SITES") != "" {
			log.Print(filepath.Base(name), " ", site, " ", d, ", ours ", ours.Least[site], " to ", ours.Most[site], ", unknown ", unknown[site])
		}
	}
	return fmt.Sprintf("%d, %s; %s", n, short(total), percent(near, total)), nil
}

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
		if strings.HasPrefix(s.Location[0].Line[0].Function.Name, "runtime.") {
			continue // a lock of the runtime, in the mutex profile
		}
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
