package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// The oracle is the Go distribution's own summary of goroutines, the code
// behind `go tool trace`. It is internal, so the test copies its sources from
// the installed distribution into a module of their own and compiles them there.
// Both sides read the same bytes with one Reader, so that they see the same
// event times; then every goroutine's time in every state must be equal to the nanosecond.

// oracle compiles the distribution's summary and returns the program.
func oracle(t *testing.T) string {
	t.Helper()
	goCmd, err := exec.LookPath("go")
	if err != nil {
		testenv.Missing(t, "no go command to compile the oracle with: ", err)
	}
	out, err := exec.Command(goCmd, "env", "GOROOT").Output()
	src := filepath.Join(strings.TrimSpace(string(out)), "src", "internal", "trace")
	if err != nil {
		testenv.Missing(t, "go env GOROOT: ", err)
	}
	if _, err := os.Stat(filepath.Join(src, "summary.go")); err != nil {
		testenv.Missing(t, "the distribution's sources are not installed: ", err)
	}
	dir := t.TempDir()
	for _, pkg := range []string{".", "version", "tracev2", "internal/tracev1"} {
		copyPackage(t, filepath.Join(src, pkg), filepath.Join(dir, "trace", pkg))
	}
	prog, err := os.ReadFile("testdata/oracle/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.go"), prog)
	version := strings.TrimPrefix(runtime.Version(), "go")
	if !strings.HasPrefix(version, "1.") {
		version = "1.26"
	}
	write(t, filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module oracle\n\ngo %s\n", strings.Fields(version)[0]))
	bin := filepath.Join(dir, "oracle.exe")
	cmd := exec.Command(goCmd, "build", "-o", bin, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling the oracle: %v\n%s", err, out)
	}
	return bin
}

// copyPackage copies a package without its tests; its imports of internal/trace point to the copy.
func copyPackage(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", from, err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		src = bytes.ReplaceAll(src, []byte(`"internal/trace`), []byte(`"oracle/trace`))
		write(t, filepath.Join(to, filepath.Base(f)), src)
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// oracleG is the oracle's output for a goroutine; see testdata/oracle.
type oracleG struct {
	ID                                 int64
	Name                               string
	Creation, Start, End               int64
	Exec, Sched, Syscall, SyscallBlock int64
	Total                              int64
	Block, Range                       map[string]int64
	Status                             int64
	StatusNoP                          bool
}

type oracleFile struct {
	Goroutines []oracleG
	Last       int64
	Tasks      int
	Regions    int
}

// tally is an Observer that sums each goroutine in the way of the oracle.
type tally struct {
	Base
	gs    map[int64]*tallied
	end   Time
	tasks int
}

type tallied struct {
	oracleG
	byStatus    bool // older than the trace
	first       State
	since       Time // first seen
	firstEnd    Time // end of its first interval, 0 while that lasts
	last        State
	lastSince   Time // of the state that it is in at the end
	lastCall    Time // start of the system call in progress at the end
	alive       bool
	forever     bool
	foreverAt   Time
	lastReason  string
	transitions int64
	open        map[string]Time
}

// asSyscalls shows a tally calls of C as system calls, as the scheduler and the oracle see them.
type asSyscalls struct {
	*tally
	since map[int64]Time // of calls without a P
}

func (a *asSyscalls) Transition(tr *Transition) {
	plain := *tr
	plain.State, plain.To = asSyscall(tr.State), asSyscall(tr.To)
	if plain.State == SyscallBlocked && plain.To == SyscallBlocked {
		return // it now counts as running, or does so no longer
	}
	if start, ok := a.since[tr.G.ID]; ok && plain.State == SyscallBlocked {
		plain.Start = start
	}
	if plain.To == SyscallBlocked {
		a.since[tr.G.ID] = tr.End
	}
	a.tally.Transition(&plain)
}

func asSyscall(s State) State {
	switch s {
	case InC:
		return Syscall
	case InCDetached, InCUncounted:
		return SyscallBlocked
	}
	return s
}

func (ty *tally) Transition(tr *Transition) {
	id := tr.G.ID
	if ty.gs == nil {
		ty.gs = map[int64]*tallied{}
	}
	g := ty.gs[id]
	if g == nil {
		g = &tallied{first: tr.To, since: tr.End, byStatus: tr.State == Unknown, alive: true, open: map[string]Time{}}
		g.ID, g.Block, g.Range = id, map[string]int64{}, map[string]int64{}
		ty.gs[id] = g
	} else if g.firstEnd == 0 {
		g.firstEnd = tr.End
	}
	g.transitions++
	dt := int64(tr.End - tr.Start)
	switch tr.State {
	case Running:
		g.Exec += dt
	case Runnable:
		g.Sched += dt
	case Syscall:
		g.Syscall += dt
	case SyscallBlocked:
		g.SyscallBlock += dt
	case Waiting:
		if tr.Reason != "forever" {
			g.Block[tr.Reason] += dt
		}
	}
	switch {
	case tr.To == Unknown:
		g.last, g.lastSince, g.lastReason = tr.State, tr.Start, tr.Reason
	case tr.To == Running && g.Start == 0:
		g.Start = int64(tr.End)
	case tr.To == NotExist:
		g.alive, g.End = false, int64(tr.End)
	case tr.To == Waiting && tr.G.Reason() == "forever":
		g.forever, g.foreverAt = true, tr.End
	}
	if tr.To == Syscall || tr.To == SyscallBlocked && tr.State != Syscall {
		g.lastCall = tr.End
	}
}

func (ty *tally) Range(r *Span) {
	if !r.OfG {
		return
	}
	g := ty.gs[r.G.ID]
	if r.Begin {
		g.open[r.Name] = r.Time
		return
	}
	if start, ok := g.open[r.Name]; ok {
		g.Range[r.Name] += int64(r.Time - start)
		delete(g.open, r.Name)
	}
}

func (ty *tally) Task(k *Span) {
	if k.Begin {
		ty.tasks++
	}
}

func (ty *tally) End(t Time) { ty.end = t }

// expect converts the result of our pass for a goroutine into the oracle's conventions.
func (g *tallied) expect(o *oracleG, end, last Time) oracleG {
	e := g.oracleG
	add := func(s State, reason string, dt int64) {
		switch s {
		case Running:
			e.Exec += dt
		case Runnable:
			e.Sched += dt
		case Syscall:
			e.Syscall += dt
		case SyscallBlocked:
			e.SyscallBlock += dt
		case Waiting:
			e.Block[reason] += dt
		}
	}
	// A goroutine that is older than the trace begins at the Sync event, the earliest time of
	// any batch; in our pass it begins at the first event that is not a status.
	e.Creation = int64(g.since)
	if g.byStatus {
		e.Creation = o.Creation
		if g.first != SyscallBlocked || o.StatusNoP {
			add(g.first, "", int64(g.since)-o.Creation)
		}
		if g.first == Running {
			e.Start = o.Status // and it "starts" at its status
		}
		if g.first == SyscallBlocked && !o.StatusNoP {
			// In traces before Go 1.22 it is on the P of the tracer, and the oracle
			// counts it as holding this P.
			e.SyscallBlock, e.Syscall = o.SyscallBlock, e.Syscall+e.SyscallBlock+int64(g.since)-o.Creation-o.SyscallBlock
			if g.alive && g.last == SyscallBlocked && g.lastSince == g.since {
				e.Syscall, e.Sched = o.Syscall, o.Sched // it never returned
			}
		} else if g.first == SyscallBlocked {
			// A system call that had no P from the beginning is blocked only until the
			// status; from there the oracle counts it as one with a P.
			stop := int64(g.firstEnd)
			if g.firstEnd == 0 || !g.alive && g.firstEnd > end {
				stop = int64(end)
			}
			add(SyscallBlocked, "", -(stop - o.Status))
			add(Syscall, "", stop-o.Status)
		}
	}
	if !g.byStatus && g.first == SyscallBlocked {
		// A thread of C enters Go without a P; the oracle counts it as having one.
		stop := g.firstEnd
		if stop == 0 {
			stop = end
		}
		add(SyscallBlocked, "", -int64(stop-g.since))
		add(Syscall, "", int64(stop-g.since))
	}
	// A goroutine alive at the end lives until the last event, statuses included; in our pass
	// until the last event that is not a status.
	tail := int64(last - end)
	switch {
	case g.forever:
		// The oracle treats "forever" as the goroutine's end.
		e.Total = int64(g.foreverAt) - e.Creation
		e.End = int64(g.foreverAt)
	case !g.alive:
		e.Total = e.End - e.Creation
	default:
		e.Total = int64(last) - e.Creation
		switch {
		case g.last == SyscallBlocked && g.byStatus && g.first == SyscallBlocked && g.lastSince == g.since:
			if o.StatusNoP {
				add(Syscall, "", tail) // see above
			}
		case g.last == SyscallBlocked:
			// A system call that lost its P and has not returned: snapshotStat adds
			// the part without P to the time in system calls and to the scheduling
			// wait.
			blocked := int64(end-g.lastSince) + tail
			add(SyscallBlocked, "", -int64(end-g.lastSince))
			add(Syscall, "", blocked)
			add(Runnable, "", blocked)
		default:
			add(g.last, g.lastReason, tail)
		}
		for name, start := range g.open {
			e.Range[name] += int64(last - start)
		}
	}
	// A range that is open at the beginning is counted from the Sync event.
	for name := range e.Range {
		if g.byStatus && name == assistRange && o.Range[name] != e.Range[name] && o.Range[name] == e.Range[name]+int64(g.since)-o.Creation {
			e.Range[name] = o.Range[name]
		}
	}
	e.Name, e.Status, e.StatusNoP = o.Name, o.Status, o.StatusNoP
	return e
}

// diff lists the numbers in which two summaries of a goroutine differ by more than slack, which is
// 0 except for old traces.
func (o *oracleG) diff(e *oracleG, slack int64) string {
	var b strings.Builder
	num := func(what string, oracle, ours int64) {
		if d := ours - oracle; d > slack || d < -slack {
			fmt.Fprintf(&b, " %s: oracle %d, ours %d (%+d);", what, oracle, ours, ours-oracle)
		}
	}
	num("creation", o.Creation, e.Creation)
	num("start", o.Start, e.Start)
	num("end", o.End, e.End)
	num("total", o.Total, e.Total)
	num("running", o.Exec, e.Exec)
	num("runnable", o.Sched, e.Sched)
	num("syscall", o.Syscall, e.Syscall)
	num("syscall blocked", o.SyscallBlock, e.SyscallBlock)
	keys := map[string]bool{}
	for _, m := range []map[string]int64{o.Block, e.Block} {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		num("waiting for "+k, o.Block[k], e.Block[k])
	}
	for k := range e.Range {
		num("range "+k, o.Range[k], e.Range[k])
	}
	return b.String()
}

// readWhole decodes a whole trace with one Reader.
func readWhole(t *testing.T, data []byte, observers ...Observer) *Info {
	t.Helper()
	p, err := open(t.Context(), bytes.NewReader(data), Options{}, anyFormat(), 0, observers)
	if err == nil {
		p.in.whole = bytes.NewReader(data[headerSize:])
		err = p.all()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &p.replay.info
}

// compare compares a pass with one Reader over data with the oracle.
//
// For traces before Go 1.22, the Reader orders simultaneous events differently from run to run (it
// iterates over a map of Ps) and adds nanoseconds to separate them: only there, each transition may
// be off by a few nanoseconds.
func compare(t *testing.T, name string, data []byte, o *oracleFile) (nonzero map[string]int) {
	t.Helper()
	ty := &tally{}
	info := readWhole(t, data, &asSyscalls{tally: ty, since: map[int64]Time{}})
	if info.Inconsistent != 0 {
		t.Errorf("%s: %d inconsistent events", name, info.Inconsistent)
	}
	if len(ty.gs) != len(o.Goroutines) {
		t.Errorf("%s: oracle %d goroutines, ours %d", name, len(o.Goroutines), len(ty.gs))
	}
	if ty.tasks != o.Tasks {
		t.Errorf("%s: oracle %d tasks, ours %d", name, o.Tasks, ty.tasks)
	}
	nonzero = map[string]int{}
	bad := 0
	for i := range o.Goroutines {
		og := &o.Goroutines[i]
		g := ty.gs[og.ID]
		if g == nil {
			t.Errorf("%s: goroutine %d (%s) is missing from ours", name, og.ID, og.Name)
			continue
		}
		e := g.expect(og, ty.end, Time(o.Last))
		slack := int64(0)
		if info.Version < firstGenerational {
			slack = 4 * g.transitions
		}
		if d := og.diff(&e, slack); d != "" {
			if bad++; bad <= 5 {
				t.Errorf("%s: goroutine %d (%s, first %v):%s", name, og.ID, og.Name, g.first, d)
			}
		}
		for what, v := range map[string]int64{"running": og.Exec, "runnable": og.Sched, "syscall": og.Syscall, "syscall blocked": og.SyscallBlock, "assist": og.Range[assistRange]} {
			if v > 0 {
				nonzero[what]++
			}
		}
		if len(og.Block) > 0 {
			nonzero["waiting"]++
		}
	}
	if bad > 5 {
		t.Errorf("%s: %d of %d goroutines differ", name, bad, len(o.Goroutines))
	}
	return nonzero
}

func runOracle(t *testing.T, bin string, files []string) []oracleFile {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(bin, files...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the oracle failed: %v\n%s", err, stderr.Bytes())
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	var all []oracleFile
	for {
		var f oracleFile
		if err := dec.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	if len(all) != len(files) {
		t.Fatalf("the oracle summarised %d of %d files", len(all), len(files))
	}
	return all
}

// TestOracle compares whole traces, each generation separately, traces recorded now, and the old
// ones of the distribution's tests.
func TestOracle(t *testing.T) {
	bin := oracle(t)
	dir := t.TempDir()
	type part struct {
		name string
		data []byte
	}
	var parts []part
	for _, c := range corpus(t) {
		if c.real && c.slow() {
			continue
		}
		parts = append(parts, part{c.name, c.data})
		if pieces := generations(t, c.data); len(pieces) > 1 && !c.real {
			for i, data := range pieces {
				parts = append(parts, part{fmt.Sprintf("%s, generation %d", c.name, i+1), data})
			}
		}
	}
	parts = append(parts, part{"recorded now", recordLive(t)})
	if old, err := oldTraces(); err == nil {
		for _, o := range old {
			parts = append(parts, part{o.name, o.data})
		}
	}
	var files []string
	for i, p := range parts {
		f := filepath.Join(dir, fmt.Sprintf("%d.trace", i))
		write(t, f, p.data)
		files = append(files, f)
	}
	covered := map[string]int{}
	for i, o := range runOracle(t, bin, files) {
		for what, n := range compare(t, parts[i].name, parts[i].data, &o) {
			covered[what] += n
		}
	}
	for _, what := range []string{"running", "runnable", "syscall", "syscall blocked", "waiting", "assist"} {
		if covered[what] == 0 {
			t.Errorf("no goroutine in the corpus has any time %s: the comparison is empty", what)
		}
	}
	t.Logf("%d files; goroutines with time: %v", len(parts), covered)
}

// oldTraces are the traces before Go 1.22 that the distribution tests its reader with.
func oldTraces() ([]recorded, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	var old []recorded
	for _, dir := range []string{"internal/trace/internal/tracev1/testdata", "internal/trace/testdata", "internal/trace/internal/oldtrace/testdata"} {
		root := filepath.Join(strings.TrimSpace(string(out)), "src", dir)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_good") {
				return err
			}
			data, err := os.ReadFile(path)
			old = append(old, recorded{name: d.Name(), data: data})
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	if len(old) == 0 {
		return nil, fmt.Errorf("the distribution holds no traces before Go 1.22")
	}
	return old, nil
}
