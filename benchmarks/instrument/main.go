// Instrument runs the tests of packages of other modules as they are and recorded by package
// instrument, and prints the table of docs/instrument.md:
//
//	go run ./benchmarks/instrument ~/src/zap . '' ~/src/bbolt . '-test.run=TestTx'
//
// Three arguments are a case: the directory of the module, the package, and the flags of the test.
// Times are medians of 3 interleaved runs. One more run takes the block profile and the mutex
// profile of the runtime beside the recording. A call site agrees with the block profile if the
// sums of its waits differ by at most 3 % and 10 µs a wait.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/instrument"
)

func main() {
	log.SetFlags(0)
	args := os.Args[1:]
	if len(args) == 0 || len(args)%3 != 0 {
		log.Fatal("usage: instrument [DIR PACKAGE FLAGS]...")
	}
	fmt.Println("| package | tests | as it is | recorded | overhead | warm build | waits for locks | exact | unattributed | block profile | mutex profile |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
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
	took    time.Duration
	results map[string]string // of each test: PASS, FAIL or SKIP
}

func measure(dir, pkg string, flags []string) (string, error) {
	temp, err := os.MkdirTemp("", "instrument-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	plain, changed := filepath.Join(temp, "plain.test"), filepath.Join(temp, "recorded.test")
	var warm [2]time.Duration
	for range 2 { // the second time is warm
		began := time.Now()
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", plain, pkg)
		if err := build(dir, cmd); err != nil {
			return "", err
		}
		warm[0] = time.Since(began)
		began = time.Now()
		if err := os.Chdir(dir); err != nil {
			return "", err
		}
		cmd, remove, err := instrument.Command(context.Background(), "go", "test", "-c", "-vet=off", "-o", changed, pkg)
		if err != nil {
			return "", err
		}
		err = build(dir, cmd)
		remove()
		if err != nil {
			return "", err
		}
		warm[1] = time.Since(began)
	}
	at := filepath.Join(dir, pkg)
	var as, recorded []run
	for range 3 {
		as = append(as, test(at, plain, "", flags))
		recorded = append(recorded, test(at, changed, temp, flags))
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
	a, r := median(as), median(recorded)
	return fmt.Sprintf("| %s %s `%s` | %s | %.2f s | %.2f s | %+.0f %% | %.2f× | %s |", filepath.Base(dir), pkg, strings.Join(flags, " "),
		outcome(as, recorded), a.Seconds(), r.Seconds(), 100*(r.Seconds()/a.Seconds()-1), warm[1].Seconds()/warm[0].Seconds(), agreement), nil
}

func build(dir string, cmd *exec.Cmd) error {
	cmd.Dir = dir
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
	r := run{time.Since(began), map[string]string{}}
	for _, m := range verdicts.FindAllSubmatch(out, -1) {
		r.results[string(m[2])] = string(m[1])
	}
	if err != nil {
		r.results["(process)"] = err.Error()
	}
	return r
}

func median(runs []run) time.Duration {
	slices.SortFunc(runs, func(a, b run) int { return int(a.took - b.took) })
	return runs[len(runs)/2].took
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
	f, err := os.Open(slices.MaxFunc(traces, func(a, b string) int { return int(size(a) - size(b)) }))
	if err != nil {
		return "", err
	}
	defer f.Close()
	report, err := bn.Analyze(context.Background(), f, bn.Options{Want: bn.WantContention})
	if err != nil {
		return "", err
	}
	sites := map[string]time.Duration{}
	var waited, logged, unattributed, blamed time.Duration
	n := int64(0)
	for i := range report.Contention.Waits {
		w := &report.Contention.Waits[i]
		switch w.Kind {
		case contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind:
		default:
			continue
		}
		if w.Flags&contention.Logged != 0 {
			logged += w.Waited
		}
		waited += w.Waited
		unattributed += w.Unattributed
		blamed += w.Blamed
		n += w.Parks
		if s := w.Waiter.Stack; s != nil && len(s.Frames) > 0 {
			sites[siteOf(s.Frames[0].Func, s.Frames[0].Line)] += w.Waited + w.Ready
		}
	}
	block, err := delays(filepath.Join(dir, "block"))
	if err != nil {
		return "", err
	}
	mutex, err := delays(filepath.Join(dir, "mutex"))
	if err != nil {
		return "", err
	}
	var total, near, charged time.Duration
	parks := int64(0)
	for site, d := range block {
		total += d.time
		parks += d.n
		if math.Abs(float64(sites[site]-d.time)) <= 0.03*float64(d.time)+float64(d.n)*float64(perWait) {
			near += d.time
		}
	}
	for _, d := range mutex {
		charged += d.time
	}
	return fmt.Sprintf("%d, %s | %s | %s | %d waits, %s; %s at call sites that agree | %s",
		n, short(waited), percent(logged, waited), percent(unattributed, waited), parks, short(total), percent(near, total), short(charged)), nil
}

func size(name string) int64 {
	st, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return st.Size()
}

// perWait is by how much a wait in a recording may be longer than in the block profile, which does
// not include the time from the wake-up until the goroutine has the lock.
const perWait = 10 * time.Microsecond

type delay struct {
	time time.Duration
	n    int64
}

// delays returns the delays for locks in a profile, by the call outside package sync.
func delays(name string) (map[string]delay, error) {
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
				if strings.HasPrefix(fn, "sync.") || strings.HasPrefix(fn, "internal/sync.") || strings.HasPrefix(fn, "runtime.") {
					lock = lock || strings.Contains(fn, "Mutex).")
					continue
				}
				if lock {
					site := siteOf(fn, int(line.Line))
					sum[site] = delay{sum[site].time + time.Duration(s.Value[1]), sum[site].n + s.Value[0]}
				}
				break stack
			}
		}
	}
	return sum, nil
}

var typeArguments = regexp.MustCompile(`\[.*\]`)

// siteOf returns a call site without type arguments, which traces and profiles write differently.
func siteOf(fn string, line int) string {
	return fmt.Sprint(typeArguments.ReplaceAllString(fn, ""), ":", line)
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

func percent(part, whole time.Duration) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
