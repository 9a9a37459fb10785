package text

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

const msec = time.Millisecond

func party(group string, calls ...string) contention.Party {
	s := &contention.Stack{}
	for i, c := range calls {
		s.Frames = append(s.Frames, contention.Frame{Func: c, File: "/src/a.go", Line: 10 * (i + 1)})
	}
	return contention.Party{Group: group, Stack: s}
}

// waits is a service whose requests wait for 1 s in total, mostly because a cache is swept.
func waits() *contention.Profile {
	get := party("net/http.(*conn).serve", "example.com/cache.(*LRU).Get", "net/http.(*conn).serve")
	sweep := party("main.janitor", "example.com/cache.(*LRU).Sweep", "main.janitor")
	receive := party("main.main", "main.main")
	cache := &contention.Lock{ID: 1, Name: "cache", Class: "example.com/cache.LRU", Waiters: 7, Longest: 90 * msec, Contended: 500 * msec}
	done := &contention.Lock{ID: 2, Class: "main.main", Longest: 100 * msec}
	return &contention.Profile{
		Duration: 2 * time.Second,
		Locks:    []*contention.Lock{cache, done},
		Waits: []contention.Wait{
			{Kind: contention.MutexKind, Lock: cache, Waiter: get, Contentions: 40, Waited: 900 * msec, Blamed: 850 * msec, HandOff: 40 * msec, Unattributed: 10 * msec},
			{Kind: contention.ChanReceiveKind, Lock: done, Waiter: receive, Contentions: 1, Waited: 100 * msec, Blamed: 100 * msec},
		},
		Pairs: []contention.Wait{
			{Kind: contention.MutexKind, Lock: cache, Waiter: get, Owner: sweep, Contentions: 39, Blamed: 700 * msec},
			{Kind: contention.MutexKind, Lock: cache, Waiter: get, Owner: get, Flags: contention.ReadOwner, Contentions: 20, Blamed: 150 * msec},
			{Kind: contention.ChanReceiveKind, Lock: done, Waiter: receive, Owner: get, Contentions: 1, Blamed: 100 * msec},
		},
		Warnings: []string{"a \x1b[31mhostile warning"},
	}
}

func contentionText(t *testing.T, p *contention.Profile, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteContention(&b, p, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteContention(t *testing.T) {
	const want = `Goroutines waited 1 s in 41 contentions in 2 s: 0.50 waited at a time, on average.
95% of that is blamed on owners, 4% is hand-off (the lock was on its way to its next owner), 1% is
  unattributed. Most to blame: cache.(*LRU).Sweep, 700 ms (70%).
By kind: mutex 900 ms (40 waits), chan-receive 100 ms (1 wait).

waited    %  contentions  by owner-func > lock > waiter-func
700 ms  70%           39  cache.(*LRU).Sweep
700 ms  70%           39    cache
700 ms  70%           39      cache.(*LRU).Get
250 ms  25%           21  cache.(*LRU).Get
150 ms  15%           20    cache
150 ms  15%           20      cache.(*LRU).Get
100 ms  10%            1    main.main#2
100 ms  10%            1      main.main
 40 ms   4%               [hand-off]
 40 ms   4%                 cache
 40 ms   4%                   cache.(*LRU).Get
 10 ms   1%               [unattributed]
 10 ms   1%                 cache
 10 ms   1%                   cache.(*LRU).Get
contentions: a wait behind several owners counts for each of them.

waited    %  contentions  longest  at once  held%  lock
900 ms  90%           40    90 ms        7    25%  cache
100 ms  10%            1   100 ms        –      –  main.main#2
at once: most goroutines that waited at the same time; held%: part of the time in which the lock is
  known to have been held while others waited.

Warning: a �[31mhostile warning
`
	if got := contentionText(t, waits(), Options{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	got := contentionText(t, waits(), Options{
		Top: 1, Width: 60, By: []string{contention.ByWaiterGroup, contention.ByOwnerStack, contention.ByFlags},
	})
	for _, want := range []string{
		"by waiter-group > owner-stack > flags:\nwaited    %  contentions\n",
		"900 ms  90%           40  http.(*conn).serve\n",
		"700 ms  70%           39    cache.(*LRU).Sweep a.go:10 < ma…\n",
		"200 ms  20%           20    (3 more)\n",
		"100 ms  10%            1    cache.(*LRU).Get a.go:10 < http…\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	got = contentionText(t, waits(), Options{Min: 200 * msec})
	if !strings.Contains(got, "\n250 ms  25%           21    (2 more)\n") && !strings.Contains(got, " 50 ms   5%               (2 more)\n") {
		t.Errorf("with a minimum:\n%s", got)
	}
	if got := contentionText(t, &contention.Profile{Duration: time.Second}, Options{}); got != "No goroutine waited in 1 s.\n" {
		t.Errorf("%q", got)
	}
	for _, by := range [][]string{{"nonsense"}, {contention.ByLock, contention.ByLock}} {
		if err := WriteContention(io.Discard, waits(), Options{By: by}); err == nil {
			t.Errorf("no error for %v", by)
		}
	}
	if WriteContention(io.Discard, nil, Options{}) == nil || FoldedStacks(io.Discard, nil, contention.OwnerView) == nil {
		t.Error("no error without a profile")
	}
}

func TestContentionCSV(t *testing.T) {
	p := waits()
	p.Locks[0].Name = "=cmd|'/c calc'!A1"
	var b bytes.Buffer
	if err := TableCSV(&b, p.Table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Fatalf("%v, %q", err, rows)
	}
	for i, want := range map[int]string{
		0: "kind,lock,class,waiter_group,waiter_func,waiter_stack,owner_group,owner_func,owner_stack,flags,contentions,wait_ns," +
			"running_ns,runnable_ns,blocked_ns,unknown_ns,blocked_on,root_group,root_func,root_stack,root_ns,ready_ns,ready_idle_ns,waits,parks,unfinished,unfinished_ns,unfinished_longest_ns,held_ns",
		1: "mutex,'=cmd|'/c calc'!A1,example.com/cache.LRU,net/http.(*conn).serve,example.com/cache.(*LRU).Get," +
			"example.com/cache.(*LRU).Get /src/a.go:10 < net/http.(*conn).serve /src/a.go:20," +
			"main.janitor,example.com/cache.(*LRU).Sweep,example.com/cache.(*LRU).Sweep /src/a.go:10 < main.janitor /src/a.go:20,,39,700000000," +
			"0,0,0,700000000,,main.janitor,example.com/cache.(*LRU).Sweep,example.com/cache.(*LRU).Sweep /src/a.go:10 < main.janitor /src/a.go:20,700000000,,,,,,,,",
		4: "mutex,'=cmd|'/c calc'!A1,example.com/cache.LRU,net/http.(*conn).serve,example.com/cache.(*LRU).Get," +
			"example.com/cache.(*LRU).Get /src/a.go:10 < net/http.(*conn).serve /src/a.go:20,[hand-off],[hand-off],[hand-off],,0,40000000,,,,,,,,,,,,,,,,,",
	} {
		if got := strings.Join(rows[i], ","); got != want {
			t.Errorf("row %d: %s\nwant %s", i, got, want)
		}
	}
}

// The frames that distinguish two call chains come before those that do not fit into a line.
func TestShortStack(t *testing.T) {
	short := map[string]string{"example.com/cache.(*LRU).Get": "cache.(*LRU).Get", "example.com/q.Pop[struct { x int }]": "q.Pop[...]"}
	for key, want := range map[string]string{
		"example.com/cache.(*LRU).Get /home/a b/c/lru.go:63 < main.main /home/a b/main.go:7 < …": "cache.(*LRU).Get lru.go:63 < main.main main.go:7 < …",
		`example.com/cache.(*LRU).Get C:\src\lru.go:63`:                                          "cache.(*LRU).Get lru.go:63",
		"example.com/q.Pop[struct { x int }] example.com/q/pop.go:9":                             "q.Pop[...] pop.go:9",
		"main.main":      "main.main",
		"[unattributed]": "[unattributed]",
	} {
		if got := shortStack(key, short); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", key, got, want)
		}
	}
}

func TestFoldedStacks(t *testing.T) {
	for _, tt := range []struct {
		view string
		want string
	}{
		{contention.JoinedView, `net/http.(*conn).serve;example.com/cache.(*LRU).Get;[lock] cache;[held by];example.com/cache.(*LRU).Sweep;main.janitor 700000000
net/http.(*conn).serve;example.com/cache.(*LRU).Get;[lock] cache;[held by];example.com/cache.(*LRU).Get;net/http.(*conn).serve 150000000
main.main;[lock] main.main;[held by];example.com/cache.(*LRU).Get;net/http.(*conn).serve 100000000
net/http.(*conn).serve;example.com/cache.(*LRU).Get;[lock] cache;[hand-off] 40000000
net/http.(*conn).serve;example.com/cache.(*LRU).Get;[lock] cache;[unattributed] 10000000
`},
		{contention.RootView, "main.janitor;example.com/cache.(*LRU).Sweep 700000000\nnet/http.(*conn).serve;example.com/cache.(*LRU).Get 250000000\n[hand-off] 40000000\n[unattributed] 10000000\n"},
		{contention.WaiterView, "net/http.(*conn).serve;example.com/cache.(*LRU).Get 900000000\nmain.main 100000000\n"},
		{contention.OwnerView, "main.janitor;example.com/cache.(*LRU).Sweep 700000000\nnet/http.(*conn).serve;example.com/cache.(*LRU).Get 250000000\n[hand-off] 40000000\n[unattributed] 10000000\n"},
	} {
		var b bytes.Buffer
		if err := FoldedStacks(&b, waits(), tt.view); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v\n%s", tt.view, err, b.String())
		}
	}
	if FoldedStacks(io.Discard, waits(), "sideways") == nil {
		t.Error("no error for a view that there is not")
	}
}

// Names from the profiled program have no effect in any form. Each execution writes one form.
func FuzzContention(f *testing.F) {
	testenv.BriefFuzzing(f)
	forms := []func(io.Writer, *contention.Profile) error{
		func(w io.Writer, p *contention.Profile) error { return WriteContention(w, p, Options{}) },
		func(w io.Writer, p *contention.Profile) error {
			return WriteContention(w, p, Options{Width: 1, By: contention.Aspects})
		},
		func(w io.Writer, p *contention.Profile) error {
			return WriteContention(w, p, Options{})
		},
		func(w io.Writer, p *contention.Profile) error { return TableCSV(w, p.Table()) },
		func(w io.Writer, p *contention.Profile) error {
			var stacks bytes.Buffer
			if err := FoldedStacks(&stacks, p, contention.JoinedView); err != nil {
				return err
			}
			for line := range strings.Lines(stacks.String()) {
				if !folded.MatchString(strings.TrimSuffix(line, "\n")) {
					return fmt.Errorf("folded %q", line)
				}
			}
			_, err := w.Write(stacks.Bytes())
			return err
		},
	}
	for form := range forms {
		f.Add("main.main", "cache", "net/http.(*conn).serve", uint8(form))
		f.Add("\x1b[2J\u202e", "\";}digraph{", "a;b\nc 17", uint8(form))
		f.Add("=1+1", "\xff", "[hand-off]", uint8(form))
	}
	f.Fuzz(func(t *testing.T, function, lock, group string, form uint8) {
		p := waits()
		p.Pairs[0].Owner = party(group, function)
		p.Locks[0].Name, p.Locks[1].Class = lock, group
		p.Warnings[0] = function
		var out bytes.Buffer
		if err := forms[int(form)%len(forms)](&out, p); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e {
				t.Fatalf("%q got through", r)
			}
		}
	})
}

var folded = regexp.MustCompile(`^[^;\n]+(;[^;\n]+)* [0-9]+$`)

func BenchmarkWriteContention(b *testing.B) {
	p := waits()
	for b.Loop() {
		if err := WriteContention(io.Discard, p, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleWriteContention() {
	p := waits().Filter([]string{contention.MutexKind}, nil, 0)
	p.Warnings = nil
	err := WriteContention(os.Stdout, p, Options{By: []string{contention.ByLock, contention.ByOwnerGroup}, Width: 96})
	if err != nil {
		panic(err)
	}
	// Output:
	// Goroutines waited 900 ms in 40 contentions in 2 s: 0.45 waited at a time, on average.
	// 94% of that is blamed on owners, 4% is hand-off (the lock was on its way to its next owner), 1%
	//   is unattributed. Most to blame: cache.(*LRU).Sweep, 700 ms (78%).
	//
	// waited     %  contentions  by lock > owner-group
	// 900 ms  100%           40  cache
	// 700 ms   78%           39    main.janitor
	// 150 ms   17%           20    http.(*conn).serve
	//  40 ms    4%                 [hand-off]
	//  10 ms    1%                 [unattributed]
	// contentions: a wait behind several owners counts for each of them.
	//
	// waited     %  contentions  longest  at once  held%  lock
	// 900 ms  100%           40    90 ms        7    25%  cache
	// at once: most goroutines that waited at the same time; held%: part of the time in which the lock
	//   is known to have been held while others waited.
}

// The tables fit the width of the terminal, whatever the locks are called. Columns that do not fit
// are in a second table.
func TestLockTableFitsIn80Columns(t *testing.T) {
	p := &contention.Profile{Source: contention.FromTrace, Duration: 1234 * time.Millisecond}
	for i, class := range []string{
		"go.opentelemetry.io/otel/sdk/metric/internal/aggregate.(*cumulativeHistogram[go.shape.float64,go.shape.*uint8]).measure.func2.1",
		"gitlab.example.com/platform/services/checkout/internal/cache.(*Sharded[github.com/google/uuid.UUID,*gitlab.example.com/platform/services/checkout/pkg/model.Order]).Load",
		"main.a", "日本語/パッケージ.(*型).待つ関数の長い長い名前はここまで続くのでした",
	} {
		lock := &contention.Lock{ID: uint64(i + 1), Class: class, Waiters: 1000, Contended: time.Second}
		party := party(class+".func1", class+".func1")
		w := contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: party, Contentions: 123456, Parks: 234567, Waited: 98765 * time.Second, Blamed: 98765 * time.Second, Longest: 123456 * time.Millisecond, Ready: 98765 * time.Millisecond, ReadyIdle: 12 * time.Second}
		p.Locks, p.Waits = append(p.Locks, lock), append(p.Waits, w)
		p.Pairs = append(p.Pairs, contention.Wait{Kind: w.Kind, Lock: lock, Waiter: party, Owner: party, Contentions: w.Contentions, Blamed: w.Blamed, Running: w.Blamed / 2, Runnable: w.Blamed / 3})
	}
	for _, width := range []int{60, 80, 100, 200} {
		var b strings.Builder
		opt := Options{}
		opt.Width = width
		if err := WriteContention(&b, p, opt); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > max(width, 80) {
				t.Errorf("at %d columns, a line has %d: %s", width, n, line)
			}
		}
		for _, heading := range []string{"idle%", "contentions", "parks", "longest", "at once", "held%", "run%", "ready%", "block%"} {
			if !strings.Contains(b.String()[strings.LastIndex(b.String(), "blocked    ")+1:], heading) {
				t.Errorf("at %d columns, %s is missing:\n%s", width, heading, b.String())
			}
		}
	}
}

// A main goroutine that waits for its workers and connections that wait for requests wait longest
// but cost nothing, so locks come first. Nothing is omitted or counted twice.
func TestForkJoinAndIdleWaitsComeLast(t *testing.T) {
	p := &contention.Profile{Source: contention.FromTrace, Duration: time.Second}
	for i, w := range []struct {
		kind          string
		waiter, owner string
		waited        time.Duration
	}{
		{contention.WaitGroupKind, "main.main", "main.worker", 900 * msec},
		{contention.NetworkKind, "internal/poll.(*FD).Read", "", 990 * msec},
		{contention.SelectKind, "net/http.(*persistConn).writeLoop", "net/http.(*persistConn).roundTrip", 980 * msec},
		{contention.ChanReceiveKind, "testing.(*B).run1", "testing.(*B).run1.func1", 970 * msec},
		{contention.ChanReceiveKind, "github.com/bottleneck-go/bottleneck/granularity.(*Pool).work", "main.submitter", 960 * msec},
		{contention.MutexKind, "main.worker", "main.holder", 5 * msec},
		{contention.ChanReceiveKind, "main.consumer", "main.producer", 4 * msec},
	} {
		lock := &contention.Lock{ID: uint64(i + 1), Class: string(w.kind) + w.waiter}
		row := contention.Wait{Kind: w.kind, Lock: lock, Waiter: party(w.waiter, w.waiter), Contentions: 1, Waited: w.waited, Longest: w.waited}
		if w.owner == "" {
			row.Unattributed = w.waited
		} else {
			row.Blamed = w.waited
			p.Pairs = append(p.Pairs, contention.Wait{Kind: w.kind, Lock: lock, Waiter: row.Waiter, Owner: party(w.owner, w.owner), Contentions: 1, Blamed: w.waited})
		}
		p.Locks, p.Waits = append(p.Locks, lock), append(p.Waits, row)
	}
	var b strings.Builder
	if err := WriteContention(&b, p, Options{}); err != nil {
		t.Fatal(err)
	}
	out, at := b.String(), -1
	for _, want := range []string{"Most to blame, apart from waits for workers, work or the network: main.holder, 5 ms", "1  main.holder\n", "1  main.producer\n", "Waiting for workers, for work or for the network (>99%), which need not cost anything:", " 990 ms  21%                      [unattributed]", " 980 ms", " 970 ms", " 960 ms", " 900 ms",
		"  lock\n", "  mutexmain.worker#6\n", "  chan-receivemain.consumer#7\n", "  poll.(*FD).Read#2\n", "  waitgroupmain.main#1\n"} {
		i := strings.Index(out[at+1:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or too early, in\n%s", want, out)
		}
		at += 1 + i
	}
	first, second := split(p)
	var sum time.Duration
	for _, part := range []*contention.Profile{first, second} {
		tree, err := part.Aggregate(defaultAspects...)
		if err != nil {
			t.Fatal(err)
		}
		sum += tree.Waited
	}
	if whole, _ := p.Aggregate(defaultAspects...); sum != whole.Waited || len(first.Pairs)+len(second.Pairs) != len(p.Pairs) {
		t.Errorf("the parts sum to %v of %v", sum, whole.Waited)
	}
	if same, none := split(first); same != first || none != nil {
		t.Error("a profile of waits of one sort is taken apart")
	}
}

// TestStillWaitingHasReasonDurationAndOwner: also if no wait has ended, in 80 columns, and without
// idle goroutines unless requested.
func TestStillWaitingHasReasonDurationAndOwner(t *testing.T) {
	get := party("net/http.(*conn).serve", "example.com/cache.(*LRU).Get", "net/http.(*conn).serve")
	p := &contention.Profile{Source: contention.FromTrace, Duration: time.Second, InFlight: 9, Unfinished: []contention.Wait{
		{Kind: contention.ChanReceiveKind, Lock: &contention.Lock{Name: "main.worker#3"}, Waiter: party("main.worker", "main.worker"), Contentions: 3, Waited: 3000 * msec, Longest: time.Second},
		{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache"}, Waiter: get, Owner: party("main.janitor", "time.Sleep", "main.sweep", "main.janitor"), Held: 499 * msec, Contentions: 5, Waited: 2500 * msec, Longest: 501 * msec},
		{Kind: contention.RWMutexReaderKind, Lock: &contention.Lock{Name: "main.table#2"}, Waiter: party("main.main", "main.main"), Contentions: 1, Waited: 100 * msec, Longest: 100 * msec},
	}}
	const head = `No wait ended in 1 s.

Still waiting when the trace ended (in none of the sums):
`
	const want = head + `5 goroutines in cache.(*LRU).Get: mutex of cache, for up to 501 ms, 2.5 s in
  all; main.janitor has held it for at least 499 ms, at time.Sleep in
  main.sweep.
1 goroutine in main.main: rwmutex-reader of main.table#2, for 100 ms; cannot
  tell who holds it, or since when, because no event of the trace shows it.
`
	if got := contentionText(t, p, Options{Width: 80}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	const asked = head + `3 goroutines in main.worker: chan-receive of main.worker#3, for up to 1 s, 3 s in all.
`
	opt := Options{Kinds: []string{contention.ChanReceiveKind}}
	if got := contentionText(t, p.Filter(opt.Kinds, nil, 0), opt); got != asked {
		t.Errorf("%s\nwant\n%s", got, asked)
	}
}

// TestUnfinishedWaitsHaveRowsInCSV: with the owner of the lock, or that it is unknown, and without
// a part of the sum.
func TestUnfinishedWaitsHaveRowsInCSV(t *testing.T) {
	p := waits()
	p.Unfinished = []contention.Wait{
		{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache"}, Waiter: party("main.main", "main.get"), Owner: party("main.janitor", "time.Sleep"), Held: 499 * msec, Contentions: 5, Waited: 2500 * msec, Longest: 501 * msec},
		{Kind: contention.RWMutexReaderKind, Lock: &contention.Lock{Name: "main.table#2"}, Waiter: party("main.main", "main.main"), Contentions: 1, Waited: 100 * msec, Longest: 100 * msec},
		{Kind: contention.SelectKind, Lock: &contention.Lock{Name: "main.worker#3"}, Waiter: party("main.worker", "main.worker"), Contentions: 1, Waited: 9 * msec, Longest: 9 * msec},
	}
	var b bytes.Buffer
	if err := TableCSV(&b, p.Table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 9 {
		t.Fatalf("%v, %q", err, rows)
	}
	var sum int
	for i, row := range rows[1:] {
		n, err := strconv.Atoi(row[11])
		if sum += n; err != nil {
			t.Error(err)
		}
		if unfinished := strings.Join(row[25:], ","); (unfinished == ",,,") != (i < 5) {
			t.Errorf("row %d has %q", i, unfinished)
		}
	}
	if sum != int(time.Second) {
		t.Errorf("wait_ns sums to %d", sum)
	}
	for i, want := range []string{
		"mutex,cache,,main.main,main.get,main.get /src/a.go:10,main.janitor,time.Sleep,time.Sleep /src/a.go:10,,0,0,,,,,,,,,,,,,,5,2500000000,501000000,499000000",
		"rwmutex-reader,main.table#2,,main.main,main.main,main.main /src/a.go:10,[cannot tell],[cannot tell],[cannot tell],,0,0,,,,,,,,,,,,,,1,100000000,100000000,",
		"select,main.worker#3,,main.worker,main.worker,main.worker /src/a.go:10,,,,,0,0,,,,,,,,,,,,,,1,9000000,9000000,",
	} {
		if got := strings.Join(rows[6+i], ","); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestLocksAreOrderedByCost: neither by first appearance nor by waits for work, however long.
func TestLocksAreOrderedByCost(t *testing.T) {
	p := &contention.Profile{Source: contention.FromTrace, Duration: time.Second}
	for i, w := range []struct {
		kind   string
		waiter string
		waited time.Duration
	}{
		{contention.NetworkKind, "internal/poll.(*FD).Read", 900 * msec},
		{contention.MutexKind, "main.small", 10 * msec},
		{contention.WaitGroupKind, "main.main", 990 * msec},
		{contention.MutexKind, "main.large", 300 * msec},
	} {
		lock := &contention.Lock{ID: uint64(i + 1), Name: w.waiter}
		p.Locks = append(p.Locks, lock)
		p.Waits = append(p.Waits, contention.Wait{Kind: w.kind, Lock: lock, Waiter: party("main.main", w.waiter), Contentions: 1, Parks: 1, Waited: w.waited, Unattributed: w.waited})
	}
	var got []string
	for _, r := range p.LockTable() {
		got = append(got, r.Lock.Name)
	}
	want := []string{"main.large", "main.small", "main.main", "internal/poll.(*FD).Read"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text := contentionText(t, p, Options{})
	_, table, _ := strings.Cut(text, "longest  at once")
	at := 0
	for _, name := range want {
		i := strings.Index(table[at:], "  "+name+"\n")
		if i < 0 {
			t.Fatalf("%s is missing, or too early, in\n%s", name, text)
		}
		at += i
	}
}

// TestTreeNamesFitIn80Columns: the numbers leave enough space, and no line is longer.
func TestTreeNamesFitIn80Columns(t *testing.T) {
	lock := &contention.Lock{ID: 2, Class: "log.Logger", Waiters: 15, Longest: 9 * msec, Contended: 90 * msec}
	other := &contention.Lock{ID: 3, Class: "go.opentelemetry.io/otel/sdk/metric/internal/aggregate.valueMap"}
	output := party("main.worker", "log.(*Logger).output", "main.worker")
	measure := party("main.worker", "go.opentelemetry.io/otel/sdk/metric/internal/aggregate.(*valueMap[...]).measure", "main.worker")
	p := &contention.Profile{Source: contention.FromTrace, Duration: time.Second, Locks: []*contention.Lock{lock, other}}
	for _, l := range p.Locks {
		for _, who := range []contention.Party{output, measure} {
			p.Waits = append(p.Waits, contention.Wait{Kind: contention.MutexKind, Lock: l, Waiter: who, Contentions: 12345, Parks: 23456, Waited: 1234 * msec, Blamed: 1000 * msec, Unattributed: 234 * msec, Ready: 156 * msec, ReadyIdle: 133 * msec})
			p.Pairs = append(p.Pairs, contention.Wait{Kind: contention.MutexKind, Lock: l, Waiter: who, Owner: output, Contentions: 12345, Blamed: 1000 * msec, Running: 1000 * msec})
		}
	}
	got := contentionText(t, p, Options{Width: 80})
	for line := range strings.Lines(got) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{" by owner-func > lock > waiter-func\n", " log.(*Logger).output\n", " aggregate.valueMap#3\n", " aggregate.(*valueMap[...]).measure\n", "run%, ready%, block%:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestReadyTimeHasALineOfItsOwn: it is not part of what is omitted because goroutines were not
// blocked.
func TestReadyTimeHasALineOfItsOwn(t *testing.T) {
	lock := &contention.Lock{ID: 1, Name: "lock"}
	p := &contention.Profile{Source: contention.FromTrace, Duration: time.Second, Locks: []*contention.Lock{lock}}
	for i := range 20 {
		who := party("main.worker", "main.f"+strconv.Itoa(i))
		blamed := time.Duration(1000 >> i * int(msec))
		p.Waits = append(p.Waits, contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: who, Contentions: 1, Parks: 1, Waited: blamed, Blamed: blamed, Ready: 50 * msec})
		p.Pairs = append(p.Pairs, contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: who, Owner: who, Contentions: 1, Blamed: blamed})
	}
	if got := contentionText(t, p, Options{By: []string{contention.ByOwnerFunc}}); !strings.Contains(got, "  1 s               [ready]\n") || !strings.Contains(got, " more)\n") {
		t.Errorf("the lines of\n%s", got)
	}
}

// For wrapped locks, the end is that of the profile, and the owner is known if it waited itself.
func TestStillWaitingForWrappedLocks(t *testing.T) {
	get := party("net/http.(*conn).serve", "example.com/cache.(*LRU).Get", "net/http.(*conn).serve")
	p := &contention.Profile{Source: contention.FromWrappers, Duration: time.Second, InFlight: 5, Unfinished: []contention.Wait{
		{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache"}, Waiter: get, Contentions: 5, Waited: 10000 * msec, Longest: 2001 * msec},
		{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "log"}, Waiter: get, Owner: party("main.main", "main.rotate"), Held: 1500 * msec, Contentions: 1, Waited: msec, Longest: msec},
	}}
	const want = `No wait ended in 1 s.

Still waiting at the end (in none of the sums):
5 goroutines in cache.(*LRU).Get: mutex of cache, for up to 2 s, 10 s in all;
  cannot tell who holds it, or since when, because that goroutine did not wait
  for it.
1 goroutine in cache.(*LRU).Get: mutex of log, for 1 ms; main.main has held it
  for 1.5 s, at main.rotate.
`
	if got := contentionText(t, p, Options{Width: 80}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
