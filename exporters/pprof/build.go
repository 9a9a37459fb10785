package pprof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
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

// build returns the profile of a graph. If it is too large, it first folds the boxes of each window,
// then drops the windows.
func build(g *bottle.Graph, opt Options) *profile.Profile {
	most, note := len(g.Boxes), ""
	for _, w := range g.Windows {
		most = max(most, len(w.Boxes))
		note = " of each window"
	}
	for k := most; ; k -= (k + 3) / 4 {
		folded := g
		if k < most {
			folded = g.Top(k)
		}
		p, fits := buildGraph(folded, opt)
		switch {
		case !fits && k > 1:
			continue
		case !fits && len(g.Windows) > 0:
			whole := *g
			whole.Windows = nil
			p = build(&whole, opt)
			p.Comments = append(p.Comments, fmt.Sprintf("folded: %d windows are too many for one profile; this is the whole", len(g.Windows)))
		case k < most:
			p.Comments = append(p.Comments, fmt.Sprintf("folded: only the %d boxes with the largest shares%s are kept; the others are added up as \"N others\"", k, note))
		}
		return p
	}
}

// buildGraph returns the profile of a graph or its windows, and whether it is within the limits.
func buildGraph(g *bottle.Graph, opt Options) (p *profile.Profile, fits bool) {
	share, running := "share", "running"
	if g.Offered {
		share, running = "offered_share", "offered_running"
	}
	b := newBuilder(opt, g.Wall, share, [2]string{share, "nanoseconds"}, [2]string{running, "nanoseconds"})
	b.p.Comments = comments(g)
	var all samples
	for _, w := range g.Windows {
		addGraph(&all, w, g.GroupBy, []int64{int64(w.Start)})
	}
	if len(g.Windows) == 0 {
		addGraph(&all, g, g.GroupBy, nil)
	}
	fits = b.fill(all.all, func(s sample) sample {
		if len(s.stack) > 1 && s.stack[1] != notSampled {
			s.stack = []frame{s.stack[0], otherStacks}
		}
		return s
	}, sample{stack: []frame{idle}, labels: graphLabels("[idle]", "idle", noSource)})
	return b.p, fits
}

func graphLabels(group, kind, source string) [][2]string {
	return [][2]string{{"group", group}, {"kind", kind}, {"source", source}}
}

// addGraph adds the samples of a graph, or of the window that begins at a time: those of the boxes,
// then the idle time.
func addGraph(all *samples, g *bottle.Graph, grouped string, window []int64) {
	for i := range g.Boxes {
		box := &g.Boxes[i]
		if box.Share == 0 && box.Running == 0 {
			continue
		}
		name := cleanName(box.Group)
		label, kind, root := name, box.Kind.String(), groupFrame(name)
		if grouped == "goroutine" {
			label = "" // it would be a goroutine id
		}
		if len(box.Stacks) == 0 || window != nil {
			all.add(sample{[]frame{root}, graphLabels(label, kind, noSource), []int64{int64(box.Share), int64(box.Running)}, window})
			continue
		}
		for j := range box.Stacks {
			s := &box.Stacks[j]
			calls := codeFrames(s.Calls)
			switch {
			case s.Source == bottle.NotSampled:
				calls = []frame{notSampled}
			case s.Folded():
				calls = []frame{otherStacks}
			}
			all.add(sample{append([]frame{root}, calls...), graphLabels(label, kind, cleanName(string(s.Source))), []int64{int64(s.Share), int64(s.Running)}, nil})
		}
	}
	if g.Idle > 0 {
		all.add(sample{[]frame{idle}, graphLabels("[idle]", "idle", noSource), []int64{int64(g.Idle), 0}, window})
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
func cleanName(name string) string { return format.CleanTo(name, maxName) }

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
