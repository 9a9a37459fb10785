package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// flowsOf makes a profile of waits between groups: a waiter, an owner, and the time.
func flowsOf(flows ...any) *contention.Profile {
	l := &contention.Lock{ID: 1, Name: "cache"}
	p := &contention.Profile{Locks: []*contention.Lock{l}, Duration: time.Second}
	for i := 0; i < len(flows); i += 3 {
		waiter, owner, d := flows[i].(string), flows[i+1].(string), flows[i+2].(time.Duration)
		w := contention.Wait{Kind: contention.MutexKind, Lock: l, Waiter: contention.Party{Group: waiter}, Waited: d, Contentions: 3}
		switch owner {
		case contention.HandOffKey:
			w.HandOff = d
		case contention.UnattributedKey:
			w.Unattributed = d
		default:
			w.Blamed = d
			p.Pairs = append(p.Pairs, contention.Wait{Kind: w.Kind, Lock: l, Waiter: w.Waiter, Owner: contention.Party{Group: owner}, Blamed: d, Contentions: 3})
		}
		p.Waits = append(p.Waits, w)
	}
	return p
}

func threeGroups() *contention.Profile {
	p := flowsOf(
		"net/http.(*conn).serve", "net/http.(*conn).serve", 640*ms,
		"net/http.(*conn).serve", "main.(*janitor).loop", 210*ms,
		"net/http.(*conn).serve", contention.HandOffKey, 60*ms,
		"main.(*janitor).loop", "net/http.(*conn).serve", 90*ms,
		"main.(*janitor).loop", contention.UnattributedKey, 30*ms,
		"main.metrics", "main.(*janitor).loop", 55*ms,
	)
	p.Warnings = []string{"The owner is unknown for 3 % of the waiting for locks."}
	return p
}

// crowdOf has n groups that wait for some of the others.
func crowdOf(n int) *contention.Profile {
	rng := rand.New(rand.NewPCG(1, 2))
	var flows []any
	name := func(i int) string {
		return fmt.Sprintf("example.com/service/%s.(*Worker%d).run", []string{"queue", "cache", "index"}[i%3], i)
	}
	for i := range n {
		for range 1 + rng.IntN(3) {
			flows = append(flows, name(i), name((i/5*5+rng.IntN(3))%n), time.Duration(rng.ExpFloat64()*float64(30*ms)))
		}
		flows = append(flows, name(i), contention.HandOffKey, time.Duration(rng.ExpFloat64()*float64(2*ms)))
	}
	return flowsOf(flows...)
}

func flowSamples() map[string]*contention.Profile {
	return map[string]*contention.Profile{
		"three": threeGroups(), "60": crowdOf(60), "empty": {}, "one": flowsOf("main.main", "main.main", ms),
		"hostile":      flowsOf("</text><script>alert(1)</script>", "\x1b[2J\u202e\"'&\xff\n", ms, strings.Repeat("very long ", 500), "", 2*ms, " ", "]]>", 3*ms),
		"unattributed": flowsOf("main.main", contention.UnattributedKey, 7*ms),
	}
}

// TestFlowLook writes the samples to the directory PICTURES for visual inspection.
func TestFlowLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	write := func(name string, form func(io.Writer, *contention.Profile, Options) error, p *contention.Profile, opt Options) {
		f, err := os.Create(filepath.Join(dir, "flows-"+name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := form(f, p, opt); err != nil {
			t.Error(name, err)
		}
	}
	for name, p := range flowSamples() {
		write(name+".svg", ContentionSVG, p, Options{Subtitle: name + ".trace"})
	}
	write("60all.svg", ContentionSVG, crowdOf(60), Options{Top: -1})
	write("three.png", ContentionPNG, threeGroups(), Options{})
	write("60.png", ContentionPNG, crowdOf(60), Options{})
}

// Everything is inside the picture, and no texts overlap.
func TestFlowLayout(t *testing.T) {
	for name, p := range flowSamples() {
		for _, opt := range []Options{{}, {Top: -1}, {Top: 3}, {Title: "A title", Subtitle: "a subtitle"}} {
			s, err := DrawContention(p, opt)
			if err != nil {
				t.Fatal(err)
			}
			var placed []text
			walk(s.shapes, func(sh shape) {
				switch sh := sh.(type) {
				case text:
					placed = append(placed, sh)
				case rect:
					if sh.x < 0 || sh.y < 0 || sh.x+sh.w > s.width || sh.y+sh.h > s.height || !(sh.h > 0) {
						t.Errorf("%s %+v: %+v is outside", name, opt, sh)
					}
				case ribbon:
					if !(sh.x1 < sh.x2) || math.IsNaN(sh.top1+sh.top2) || max(sh.top1, sh.top2)+sh.h > s.height {
						t.Errorf("%s %+v: %+v is outside", name, opt, sh)
					}
				}
			})
			for i, a := range placed {
				x0, y0, x1, y1 := a.bounds()
				if x0 < 0 || y0 < 0 || x1 > s.width+0.01 || y1 > s.height {
					t.Errorf("%s %+v: %q is outside", name, opt, a.s)
				}
				for _, b := range placed[:i] {
					u0, v0, u1, v1 := b.bounds()
					if x0 < u1-0.01 && u0 < x1-0.01 && y0 < v1 && v0 < y1 {
						t.Errorf("%s %+v: %q lies on %q", name, opt, a.s, b.s)
					}
				}
			}
		}
	}
}

// The height of a bar is its time, and the flows fill both of their bars.
func TestFlowsAreToScale(t *testing.T) {
	for _, top := range []int{0, -1, 2} {
		m, err := newFlowModel(crowdOf(40), Options{Top: top})
		if err != nil {
			t.Fatal(err)
		}
		m.draw()
		var left, right time.Duration
		for _, n := range m.waiters {
			left += n.time
		}
		for _, n := range m.owners {
			right += n.time
			if want := flowHeight * float64(n.time) / float64(m.whole); math.Abs(n.next-n.y-want) > 1e-6 {
				t.Errorf("flows into %s are %v high, want %v", n.name, n.next-n.y, want)
			}
		}
		if left != m.whole || right != m.whole || m.whole == 0 {
			t.Errorf("top %d: waited %v, blamed %v, in all %v", top, left, right, m.whole)
		}
	}
}

func TestFlowContent(t *testing.T) {
	m, err := newFlowModel(threeGroups(), Options{Min: 60 * ms})
	if err != nil {
		t.Fatal(err)
	}
	s := m.draw()
	for _, want := range []string{
		"1.09 s waited in 1 s; most for http.(*conn).serve: 730 ms (67%)",
		"Not drawn: 85 ms in flows that are shorter than 60 ms.",
		"Warning: The owner is unknown for 3 % of the waiting for locks.",
		"main.(*janitor).loop", "hand-off", "Who waited for whom",
	} {
		if !strings.Contains(strings.Join(textsOf(s), "\n"), want) {
			t.Errorf("no %q in %q", want, textsOf(s))
		}
	}
	if strings.Contains(strings.Join(textsOf(s), "\n"), "unattributed") {
		t.Error("a flow that is too short is drawn")
	}
	var tips []string
	walk(s.shapes, func(sh shape) {
		if g, ok := sh.(*group); ok {
			tips = append(tips, g.title)
		}
	})
	if want := "net/http.(*conn).serve waited 210 ms (19%) for main.(*janitor).loop, in 3 contentions"; !strings.Contains(strings.Join(tips, "\n"), want) {
		t.Errorf("no %q in %q", want, tips)
	}
}

// Waits for the network and for a time have no owner by their nature, so they are not called
// unattributed.
func TestFlowsOutside(t *testing.T) {
	p := flowsOf("main.a", contention.UnattributedKey, 60*ms, "main.a", contention.UnattributedKey, 30*ms, "main.b", contention.UnattributedKey, 10*ms)
	p.Waits[0].Kind, p.Waits[1].Kind = contention.SleepKind, contention.NetworkKind
	m, err := newFlowModel(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range m.owners {
		got = append(got, fmt.Sprint(n.name, " ", n.time))
	}
	if want := "sleep 60ms, network 30ms, unattributed 10ms"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFlowsOfATraceAreBlockedTime: the time for which waiters were ready afterwards is not
// included, so the picture does not use the word "waited".
func TestFlowsOfATraceAreBlockedTime(t *testing.T) {
	p := threeGroups()
	p.Source = contention.FromTrace
	m, err := newFlowModel(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := m.draw()
	words := strings.TrimPrefix(strings.Join(textsOf(s), "\n"), s.title) + m.sentenceOf(m.flows[0])
	if strings.Contains(words, "waited") || !strings.Contains(words, "1.09 s blocked in 1 s; most for ") || !strings.Contains(words, " was blocked ") {
		t.Errorf("%q", words)
	}
}

func textsOf(s *Drawing) (out []string) {
	for _, x := range texts(s) {
		out = append(out, x.s)
	}
	return out
}

func TestFlowForms(t *testing.T) {
	for name, p := range flowSamples() {
		var b bytes.Buffer
		if err := ContentionSVG(&b, p, Options{}); err != nil {
			t.Fatal(name, err)
		}
		checkSVG(t, b.Bytes())
		if strings.Contains(b.String(), "<script") || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\u202e") {
			t.Errorf("%s: %s", name, b.Bytes())
		}
	}
	var b bytes.Buffer
	if err := ContentionPNG(&b, threeGroups(), Options{}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newFlowModel(threeGroups(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first ribbon
	walk(m.draw().shapes, func(sh shape) {
		if r, ok := sh.(ribbon); ok && first.h == 0 {
			first = r
		}
	})
	r, g, bl, _ := img.At(int(2*first.x1)+4, int(2*first.top1+first.h)).RGBA()
	want := mix(hex(0xffffff), first.fill, opacity)
	if d := math.Abs(float64(r>>8)-float64(want.R)) + math.Abs(float64(g>>8)-float64(want.G)) + math.Abs(float64(bl>>8)-float64(want.B)); d > 6 {
		t.Errorf("a flow is painted in %x %x %x, want %v", r>>8, g>>8, bl>>8, want)
	}
	if ContentionSVG(io.Discard, nil, Options{}) == nil {
		t.Error("no error")
	}
	broken := errors.New("broken")
	if err := ContentionSVG(writerFunc(func([]byte) (int, error) { return 0, broken }), threeGroups(), Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestFlowTooltipHasTheOwnersActivity: the tooltip of a flow has the owner's activity if it is
// known.
func TestFlowTooltipHasTheOwnersActivity(t *testing.T) {
	p := threeGroups()
	q := &p.Pairs[1]
	q.Running, q.Runnable, q.Blocked = 21*ms, 42*ms, map[string]time.Duration{contention.MutexKind: 100 * ms, contention.SleepKind: 26 * ms}
	m, err := newFlowModel(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tips []string
	for _, f := range m.flows {
		tips = append(tips, m.sentenceOf(f))
	}
	all := strings.Join(tips, "\n")
	if want := "for main.(*janitor).loop, in 3 contentions; during the waits it ran 10%, was ready to run 20%, was itself blocked 60%"; !strings.Contains(all, want) || strings.Count(all, "during the waits") != 1 {
		t.Errorf("%s\nwant once %s", all, want)
	}
}
