package pprof_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

const ms = time.Millisecond

// chain is a call chain, leaf first, of calls such as "main.f:10".
func chain(calls ...string) *contention.Stack {
	s := &contention.Stack{}
	for i, c := range calls {
		name, _, _ := strings.Cut(c, ":")
		line := 10 * (i + 1)
		fmt.Sscanf(c[len(name):], ":%d", &line)
		s.Frames = append(s.Frames, contention.Frame{Func: name, File: "/src/" + name[:strings.IndexByte(name+".", '.')] + ".go", Line: line})
	}
	return s
}

// search is a server with a cache under one lock and a log under another, after lusearch: requests
// wait for 1 s in total, mostly because of evictions.
func search() *contention.Profile {
	const serve = "net/http.(*conn).serve"
	cache := &contention.Lock{ID: 1, Name: "example.com/cache.(*LRU).mu", Class: "example.com/cache.LRU"}
	logger := &contention.Lock{ID: 2, Class: "log.Logger"}
	lookup := contention.Party{Group: serve, Stack: chain("example.com/cache.(*LRU).Get", "main.(*server).lookup", serve)}
	write := contention.Party{Group: serve, Stack: chain("log.(*Logger).Output", "main.(*server).log", serve)}
	evict := contention.Party{Group: serve, Stack: chain("example.com/cache.(*LRU).evict", "example.com/cache.(*LRU).Add", "main.(*server).store", serve)}
	purge := contention.Party{Group: "main.(*janitor).loop", Stack: chain("example.com/cache.(*LRU).Purge", "main.(*janitor).loop")}
	read := contention.Party{Group: "main.disk", Stack: chain("example.com/disk.Read", "main.disk")}
	const mutex = contention.MutexKind
	return &contention.Profile{
		Source: contention.FromWrappers, Accuracy: contention.Exact,
		Start: time.Unix(1_700_000_000, 5), Duration: 2 * time.Second,
		Locks: []*contention.Lock{cache, logger},
		Waits: []contention.Wait{
			{Kind: mutex, Lock: cache, Waiter: lookup, Contentions: 40, Waited: 800 * ms, Blamed: 750 * ms, HandOff: 40 * ms, Unattributed: 10 * ms},
			{Kind: mutex, Lock: logger, Waiter: write, Contentions: 20, Waited: 200 * ms, Blamed: 200 * ms},
		},
		Pairs: []contention.Wait{
			{Kind: mutex, Lock: cache, Waiter: lookup, Owner: evict, Contentions: 39, Blamed: 600 * ms, Roots: []contention.Wait{
				{Owner: read, Kind: contention.ChanReceiveKind, Links: 1, Contentions: 30, Blamed: 500 * ms},
				{Owner: evict, Contentions: 39, Blamed: 100 * ms},
			}},
			{Kind: mutex, Lock: logger, Waiter: write, Owner: write, Contentions: 20, Blamed: 200 * ms},
			{Kind: mutex, Lock: cache, Waiter: lookup, Owner: purge, Contentions: 5, Blamed: 150 * ms},
		},
		Warnings: []string{"Some were seen twice."},
	}
}

func ExampleContention() {
	p, err := pprof.Contention(search(), pprof.Options{View: contention.JoinedView})
	if err != nil {
		panic(err)
	}
	s := p.Sample[0]
	fmt.Println(time.Duration(s.Value[1]))
	for i := len(s.Location) - 1; i >= 0; i-- {
		fmt.Println(s.Location[i].Line[0].Function.Name)
	}
	// Output:
	// 600ms
	// net/http.(*conn).serve
	// main.(*server).lookup
	// example.com/cache.(*LRU).Get
	// [lock] example.com/cache.(*LRU).mu
	// [held by]
	// example.com/cache.(*LRU).evict
	// example.com/cache.(*LRU).Add
	// main.(*server).store
	// net/http.(*conn).serve
}

// The distribution's own pprof prints the numbers of the profile.
func TestContentionGoToolPprof(t *testing.T) {
	for _, c := range []struct {
		name string
		view string
		args []string
		want []string
	}{
		{"owners by default", "", []string{"-top", "-unit=ms"}, []string{
			"Type: delay\n",
			"Duration: 2s, Total samples = 1000ms (50.00%)\n",
			"   600ms 60.00% 60.00%      600ms 60.00%  example.com/cache.(*LRU).evict\n",
			"   200ms 20.00% 80.00%      200ms 20.00%  log.(*Logger).Output\n",
			"   150ms 15.00% 95.00%      150ms 15.00%  example.com/cache.(*LRU).Purge\n",
			"    40ms  4.00% 99.00%       40ms  4.00%  [hand-off]\n",
			"    10ms  1.00%   100%       10ms  1.00%  [unattributed]\n",
			"       0     0%   100%      800ms 80.00%  net/http.(*conn).serve\n",
		}},
		{"waits that an owner delayed", "owner", []string{"-top", "-sample_index=contentions"}, []string{
			"Type: contentions\n", "39 60.94% 60.94%         39 60.94%  example.com/cache.(*LRU).evict\n"}},
		{"roots", "root", []string{"-top", "-unit=ms"}, []string{
			"   500ms 50.00% 50.00%      500ms 50.00%  example.com/disk.Read\n",
			"   100ms 10.00% 95.00%      100ms 10.00%  example.com/cache.(*LRU).evict\n",
			"    40ms  4.00% 99.00%       40ms  4.00%  [hand-off]\n",
		}},
		{"the groups of roots", "root", []string{"-tags", "-unit=ms"}, []string{"root_group: ", "main.disk\n", "owner_group: "}},
		{"waiters", "waiter", []string{"-top", "-unit=ms"}, []string{
			"   800ms 80.00% 80.00%      800ms 80.00%  example.com/cache.(*LRU).Get\n",
			"   200ms 20.00%   100%      200ms 20.00%  log.(*Logger).Output\n",
			"       0     0%   100%     1000ms   100%  net/http.(*conn).serve\n",
		}},
		{"waits", "waiter", []string{"-top", "-sample_index=contentions"}, []string{
			"        40 66.67% 66.67%         40 66.67%  example.com/cache.(*LRU).Get\n"}},
		{"joined, stack by stack", "joined", []string{"-traces"}, []string{
			"      kind:  mutex\n", "      lock:  example.com/cache.(*LRU).mu\n", "lock_class:  example.com/cache.LRU\n",
			"owner_group:  main.(*janitor).loop\n", "waiter_group:  net/http.(*conn).serve\n",
			`     600ms   net/http.(*conn).serve
             main.(*server).store
             example.com/cache.(*LRU).Add
             example.com/cache.(*LRU).evict
             [held by]
             [lock] example.com/cache.(*LRU).mu
             example.com/cache.(*LRU).Get
             main.(*server).lookup
             net/http.(*conn).serve
`,
			"      40ms   [hand-off]\n             [lock] example.com/cache.(*LRU).mu\n             example.com/cache.(*LRU).Get\n",
			"      10ms   [unattributed]\n             [lock] example.com/cache.(*LRU).mu\n",
			"             [held by]\n             [lock] log.Logger\n             log.(*Logger).Output\n",
		}},
		{"the neighbours of a lock", "joined", []string{"-peek=LRU..mu", "-unit=ms"}, []string{
			"800ms   100% |   example.com/cache.(*LRU).Get\n",
			"         0     0%     0%      800ms 80.00%                | [lock] example.com/cache.(*LRU).mu\n",
			"750ms 93.75% |   [held by]\n",
			" 40ms  5.00% |   [hand-off]\n",
			" 10ms  1.25% |   [unattributed]\n",
		}},
		{"raw", "owner", []string{"-raw"}, []string{
			"PeriodType: wall nanoseconds\nPeriod: 1\n", "Samples:\ncontentions/count delay/nanoseconds[dflt] ready/nanoseconds\n",
			"         39  600000000          0: ", "         20  200000000          0: ", "          5  150000000          0: ", "          0   40000000          0: ",
			"Time: 2023-11-1", "Mappings\n1: 0x0/0x0/0x0 program  [FN][FL][LN]\n",
			"example.com/cache.(*LRU).evict /src/example.go:10:0 s=0\n",
		}},
		{"focus on a label", "joined", []string{"-top", "-unit=ms", "-tagfocus=lock_class=log"}, []string{
			"Showing nodes accounting for 200ms, 20.00% of 1000ms total\n"}},
		{"comments", "joined", []string{"-comments"}, []string{
			"lock contention, joined view, from wrappers, exact: 1 s waited in 2 s\nSome were seen twice.\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := goToolContention(t, search(), c.view, c.args...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("want %q in:\n%s", want, out)
				}
			}
		})
	}
	if out := goToolContention(t, &contention.Profile{}, "", "-traces"); !strings.Contains(out, "[no contention]") {
		t.Errorf("an empty profile:\n%s", out)
	}
}

func goToolContention(t *testing.T, p *contention.Profile, view string, args ...string) string {
	t.Helper()
	return goToolOn(t, written(pprof.Contention(p, pprof.Options{View: view})), args...)
}

// crowd has n distinct pairs of owners, with call chains of the given depth and names of the given
// length.
func crowd(n, depth, locks, name int) *contention.Profile {
	p := &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
	for i := range locks {
		p.Locks = append(p.Locks, &contention.Lock{ID: uint64(i), Name: fmt.Sprintf("lock %d", i), Class: "main.T"})
	}
	waiter := contention.Party{Group: "main.wait", Stack: chain("main.wait")}
	kinds := []string{contention.MutexKind, contention.CondKind, contention.RWMutexReaderKind}
	for i := range n {
		owner := contention.Party{Group: "main.own", Stack: &contention.Stack{}}
		for d := range depth {
			owner.Stack.Frames = append(owner.Stack.Frames, contention.Frame{Func: fmt.Sprintf("main.%sf%d_%d", strings.Repeat("x", name), i, d), File: "/f.go", Line: d + 1})
		}
		lock, kind, d := p.Locks[i%locks], kinds[i%len(kinds)], time.Duration(i+1)
		p.Pairs = append(p.Pairs, contention.Wait{Kind: kind, Lock: lock, Waiter: waiter, Owner: owner, Contentions: 1, Blamed: d})
		p.Waits = append(p.Waits, contention.Wait{Kind: kind, Lock: lock, Waiter: waiter, Contentions: 1, Waited: d, Blamed: d})
	}
	return p
}

// A contention profile of any size becomes one that databases accept, with the same sums.
func TestContentionLimits(t *testing.T) {
	type limit struct {
		name   string
		p      *contention.Profile
		folded bool
		lock   bool // has the label
	}
	for _, c := range testenv.Some([]limit{
		{"15,000 pairs fit", crowd(15_000, 2, 100, 0), false, true},
		{"16,000 pairs", crowd(16_000, 2, 101, 0), true, false},
		{"1,800 deep chains", crowd(1_800, 60, 5, 0), true, true},
		{"2,500 long names", crowd(2_500, 2, 5, 5000), true, true},
	}) {
		t.Run(c.name, func(t *testing.T) {
			for _, view := range testenv.Some(contention.Views) {
				p, err := pprof.Contention(c.p, pprof.Options{View: view})
				if err != nil {
					t.Fatal(err)
				}
				if folded := strings.Contains(strings.Join(p.Comments, "|"), "added up under [others]"); folded != (c.folded && view != contention.WaiterView) {
					t.Errorf("%s: comments: %q", view, p.Comments)
				}
				var buf bytes.Buffer
				if err := p.WriteUncompressed(&buf); err != nil {
					t.Fatal(err)
				}
				if len(p.Sample) >= 16_000 || buf.Len() >= 4<<20 {
					t.Errorf("%s: %d samples, %d bytes", view, len(p.Sample), buf.Len())
				}
				var count, delay int64
				for _, s := range p.Sample {
					count += s.Value[0]
					delay += s.Value[1]
					if _, ok := s.Label["lock"]; ok != c.lock || len(s.Label["kind"]) != 1 || len(s.Label["lock_class"]) != 1 {
						t.Fatalf("%s: labels %v", view, s.Label)
					}
				}
				n := int64(len(c.p.Pairs))
				if count != n || delay != n*(n+1)/2 {
					t.Errorf("%s: %d contentions, %d ns", view, count, delay)
				}
			}
		})
	}
	if _, err := pprof.Contention(search(), pprof.Options{View: "sideways"}); err == nil {
		t.Error("no error for an unknown view")
	}
	if _, err := pprof.Contention(nil, pprof.Options{}); err == nil {
		t.Error("no error without a profile")
	}
}

// FuzzContention: no name breaks the profile or the terminal that shows it.
func FuzzContention(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("main.main", "cache", "main.T", "/a.go")
	f.Add("\x1b[2J", "\u202e", "\xff\n", "\x00owner")
	f.Add("std::vector<int>(x)", "", "[others]", strings.Repeat("é", 3000))
	f.Fuzz(func(t *testing.T, name, lock, class, file string) {
		p := search()
		p.Locks[0].Name, p.Locks[1].Class = lock, class
		p.Pairs[0].Owner.Group = name
		p.Pairs[0].Owner.Stack.Frames[0].Func, p.Pairs[0].Owner.Stack.Frames[0].File = name, file
		for _, view := range contention.Views {
			written, err := pprof.Contention(p, pprof.Options{View: view})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			// Gzip would take most of the time.
			if err := written.WriteUncompressed(&buf); err != nil {
				t.Fatal(err)
			}
			got, err := profile.ParseUncompressed(buf.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if i := strings.IndexFunc(got.String(), func(r rune) bool {
				return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e
			}); i >= 0 {
				t.Fatalf("a control character got through: %q", got.String()[i:])
			}
			var delay int64
			for _, s := range got.Sample {
				delay += s.Value[1]
			}
			if delay != int64(time.Second) {
				t.Fatalf("delays sum to %v", delay)
			}
		}
	})
}

func BenchmarkWriteContention(b *testing.B) {
	p := crowd(1000, 10, 20, 0)
	b.ReportAllocs()
	for b.Loop() {
		if err := written(pprof.Contention(p, pprof.Options{View: contention.JoinedView}))(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
