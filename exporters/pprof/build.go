package pprof

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

const docURL = "https://pkg.go.dev/github.com/bottleneck-go/bottleneck/exporters/pprof"

// checked returns a profile, unless it is invalid.
func checked(p *profile.Profile) (*profile.Profile, error) {
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return p, nil
}

// write writes a profile, unless there was an error.
func write(w io.Writer, p *profile.Profile, err error) error {
	if err != nil {
		return err
	}
	if err := p.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}

// The limits of common profile databases, per profile.
const (
	maxSamples = 16_000  // exclusive
	maxBytes   = 4 << 20 // uncompressed
)

// others bounds the number of samples that Top adds to the k boxes that it keeps: a box of others
// for each of the four kinds, and the idle time.
const others = 5

// limit folds a graph until its profile is small enough, and returns notes on what it did. It first
// folds the boxes of each window, then drops the windows.
func limit(g *bottle.Graph) (*bottle.Graph, []string) {
	if newGraphBuilder(g, Options{}).reserve(g) {
		return g, nil
	}
	graphs := max(1, len(g.Windows))
	most := len(g.Boxes)
	for _, w := range g.Windows {
		most = max(most, len(w.Boxes))
	}
	for k := min(most-1, (maxSamples-1)/graphs-others); k > 0; k /= 2 {
		folded := g.Top(k)
		if !newGraphBuilder(folded, Options{}).reserve(folded) {
			continue // too many bytes
		}
		where := ""
		if len(g.Windows) > 0 {
			where = " of each window"
		}
		return folded, []string{fmt.Sprintf("folded: only the %d boxes with the largest shares%s are kept; the others are added up as \"N others\"", k, where)}
	}
	whole := *g
	whole.Windows = nil
	folded, notes := limit(&whole) // one box always fits, because names are bounded
	return folded, append([]string{fmt.Sprintf("folded: %d windows are too many for one profile; this is the whole", len(g.Windows))}, notes...)
}

// build returns the profile of a graph that is within the limits.
func build(g *bottle.Graph, opt Options) *profile.Profile {
	b := newGraphBuilder(g, opt)
	b.p.Comments = comments(g)
	for _, window := range g.Windows {
		b.graph(window, true)
	}
	if len(g.Windows) == 0 {
		b.chooseStacks(g)
		b.graph(g, false)
	}
	return b.p
}

// graphBuilder makes the samples of graphs.
type graphBuilder struct {
	*builder
	grouped string // grouping of the boxes
	chosen  map[*bottle.Box][]stackSum
}

func newGraphBuilder(g *bottle.Graph, opt Options) *graphBuilder {
	share, running := "share", "running"
	if g.Offered {
		share, running = "offered_share", "offered_running"
	}
	return &graphBuilder{builder: newBuilder(opt, g.Wall, share, [2]string{share, "nanoseconds"}, [2]string{running, "nanoseconds"}), grouped: g.GroupBy}
}

// reserve reports whether there is room for the graph or its windows without single call stacks, and
// reserves it: also for [not sampled], and for [others] of two sources.
func (b *graphBuilder) reserve(g *bottle.Graph) bool {
	graphs := g.Windows
	if len(graphs) == 0 {
		graphs = []*bottle.Graph{g}
	}
	for _, g := range graphs {
		fits := b.fits([]frame{idle})
		for i := range g.Boxes {
			box, samples := &g.Boxes[i], 1
			if len(box.Stacks) > 0 {
				samples = 4
			}
			name := cleanName(box.Group)
			for range samples {
				fits = fits && b.fits([]frame{groupFrame(name)}, [2]string{"group", name})
			}
		}
		if !fits {
			return false
		}
	}
	return true
}

// stackSum is a sample of a box.
type stackSum struct {
	calls          []frame // calls below the box, root first
	source         string
	share, running time.Duration
}

// graph adds the samples of a graph or window: boxes from the bottom up, then idle time.
func (b *graphBuilder) graph(g *bottle.Graph, isWindow bool) {
	add := func(stack []frame, share, running time.Duration, group, kind, source string) {
		s := b.add(sample{stack, [][2]string{{"group", group}, {"source", source}}, []int64{int64(share), int64(running)}})
		s.Label["kind"] = []string{kind}
		if isWindow {
			s.NumLabel = map[string][]int64{"window_start": {int64(g.Start)}}
			s.NumUnit = map[string][]string{"window_start": {"nanoseconds"}}
		}
	}
	for i := range g.Boxes {
		box := &g.Boxes[i]
		if box.Share == 0 && box.Running == 0 {
			continue
		}
		name := cleanName(box.Group)
		label := name
		if b.grouped == "goroutine" {
			label = "" // it would be a goroutine id
		}
		kind := box.Kind.String()
		root := groupFrame(name)
		if len(b.chosen[box]) == 0 {
			add([]frame{root}, box.Share, box.Running, label, kind, noSource)
		}
		for _, s := range b.chosen[box] {
			add(append([]frame{root}, s.calls...), s.share, s.running, label, kind, s.source)
		}
	}
	// Some tools reject a profile without samples.
	if g.Idle > 0 || len(b.p.Sample) == 0 && !isWindow {
		add([]frame{idle}, g.Idle, 0, "[idle]", "idle", noSource)
	}
}

// noSource is the source label of a sample without a call stack if no stacks were requested.
const noSource = "none"

func groupFrame(name string) frame { return frame{name: "[group] " + name, aspect: "group"} }

// Frames for time without a call stack.
var (
	idle        = frame{name: "[idle]", aspect: "idle"}
	notSampled  = frame{name: "[not sampled]", aspect: "not sampled"}
	otherStacks = frame{name: "[others]", aspect: "others"}
)

// chooseStacks selects the largest stacks of all boxes that fit; the rest is added up, one sample
// per box and source.
func (b *graphBuilder) chooseStacks(g *bottle.Graph) {
	type boxStack struct {
		box *bottle.Box
		*bottle.Stack
	}
	var all []boxStack
	for i := range g.Boxes {
		box := &g.Boxes[i]
		for j := range box.Stacks {
			all = append(all, boxStack{box, &box.Stacks[j]})
		}
	}
	order.Stable(all, func(x, y boxStack) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(y.Running, x.Running))
	})
	b.chosen = map[*bottle.Box][]stackSum{}
	b.reserve(g)
	rest, dropped := map[*bottle.Box][]stackSum{}, 0
	for _, s := range all {
		sum := stackSum{source: cleanName(string(s.Source)), share: s.Share, running: s.Running, calls: codeFrames(s.Calls)}
		switch {
		case s.Source == bottle.NotSampled:
			sum.calls = []frame{notSampled}
		case s.Folded() || !b.fits(sum.calls):
			if !s.Folded() {
				dropped++
			}
			i := slices.IndexFunc(rest[s.box], func(r stackSum) bool { return r.source == sum.source })
			if i < 0 {
				i = len(rest[s.box])
				rest[s.box] = append(rest[s.box], stackSum{source: sum.source, calls: []frame{otherStacks}})
			}
			rest[s.box][i].share += sum.share
			rest[s.box][i].running += sum.running
			continue
		}
		b.chosen[s.box] = append(b.chosen[s.box], sum)
	}
	for box, sums := range rest {
		b.chosen[box] = append(b.chosen[box], sums...)
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the smallest shares are added up under [others]", format.Plural(dropped, "stack", "stacks")))
	}
}

// codeFrames returns the frames of a call stack, root first.
func codeFrames(s *timeline.Stack) (stack []frame) {
	for _, f := range slices.Backward(s.Code()) {
		stack = append(stack, frame{name: cleanName(f.Func), file: cleanName(f.File), line: f.Line})
	}
	return stack
}

// maxName is the maximum number of runes of a name; real ones are far shorter.
const maxName = 1000

// cleanName makes a name of the traced program safe to print and limits its length.
func cleanName(name string) string {
	name = format.Clean(name)
	if len(name) <= maxName {
		return name
	}
	r := []rune(name)
	if len(r) <= maxName {
		return name
	}
	return string(r[:maxName/2]) + "…" + string(r[len(r)-maxName/2+1:])
}

// maxWarnings bounds the number of comments; maxName bounds the length of each.
const maxWarnings = 50

// comments returns a description of the profile, and the warnings of the graph.
func comments(g *bottle.Graph) []string {
	what := "bottle graph"
	if g.GroupBy != "" {
		what += " by " + cleanName(g.GroupBy)
	}
	if g.Offered {
		what += ": offered parallelism (running + runnable)"
	}
	if g.GoVersion != "" {
		what += ", " + cleanName(g.GoVersion)
	}
	if g.Procs > 0 {
		what += fmt.Sprintf(", GOMAXPROCS %d", g.Procs)
	}
	return append(append([]string{what}, sources(g)...), warningComments(g.Warnings)...)
}

// sources returns a description of where the call stacks come from.
func sources(g *bottle.Graph) []string {
	var all time.Duration
	by := map[string]time.Duration{}
	for i := range g.Boxes {
		for _, s := range g.Boxes[i].Stacks {
			by[s.Source] += s.Running
			all += s.Running
		}
	}
	if all == 0 || len(g.Windows) > 0 {
		return nil
	}
	var parts []string
	for _, s := range []string{bottle.CPUSamples, bottle.SchedulingEvents, bottle.NotSampled} {
		if by[s] > 0 {
			parts = append(parts, format.Percent(by[s], all)+" "+string(s))
		}
	}
	return []string{"call chains of the running time: " + strings.Join(parts, ", ")}
}

func warningComments(warnings []string) (out []string) {
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		out = append(out, cleanName(w))
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		out = append(out, format.Plural(more, "more warning", "more warnings"))
	}
	return out
}
