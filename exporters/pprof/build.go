package pprof

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

const docURL = "https://pkg.go.dev/github.com/bottleneck-go/bottleneck/exporters/pprof"

// builder makes the tables of a profile; ids count from 1 in the order of first use.
type builder struct {
	p       *profile.Profile
	code    *profile.Mapping // of frames that are functions
	frames  map[frame]*profile.Location
	grouped string // what the boxes are grouped by
}

// frame is one line of a stack. What is not code has an aspect ("group",
// "kind", "idle"), which takes the place of the file name, and no mapping.
type frame struct{ name, aspect string }

// build makes the profile of a graph that is within the limits.
func build(g *bottle.Graph, opt Options) *profile.Profile {
	share, running := "share", "running"
	if g.Offered {
		share, running = "offered_share", "offered_running"
	}
	b := &builder{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: share, Unit: "nanoseconds"},
				{Type: running, Unit: "nanoseconds"},
			},
			DefaultSampleType: share,
			PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
			Period:            1, // nothing is sampled: each nanosecond counts
			DurationNanos:     int64(g.Wall),
			DocURL:            docURL,
		},
		// HasFunctions keeps pprof from looking for the executable.
		code:    codeMapping(opt.File, opt.BuildID),
		frames:  map[frame]*profile.Location{},
		grouped: g.GroupBy,
	}
	b.p.Mapping = []*profile.Mapping{b.code}
	if !opt.Time.IsZero() {
		b.p.TimeNanos = opt.Time.UnixNano()
	}
	for _, window := range g.Windows {
		b.graph(window, true)
	}
	if len(g.Windows) == 0 {
		b.graph(g, false)
	}
	return b.p
}

// graph adds the samples of a graph or window, boxes from the bottom up and idle time last.
func (b *builder) graph(g *bottle.Graph, isWindow bool) {
	add := func(stack []frame, share, running time.Duration, group, kind string) {
		s := &profile.Sample{
			Value: []int64{int64(share), int64(running)},
			Label: map[string][]string{"kind": {kind}},
		}
		if group != "" {
			s.Label["group"] = []string{group}
		}
		if isWindow {
			s.NumLabel = map[string][]int64{"window_start": {int64(g.Start)}}
			s.NumUnit = map[string][]string{"window_start": {"nanoseconds"}}
		}
		for _, f := range stack {
			s.Location = append(s.Location, b.location(f))
		}
		b.p.Sample = append(b.p.Sample, s)
	}
	for i := range g.Boxes {
		box := &g.Boxes[i]
		if box.Share == 0 && box.Running == 0 {
			continue
		}
		name := cleanName(box.Group)
		label := name
		if b.grouped == "goroutine" {
			label = "" // it would be the goroutine's id
		}
		kind := string(box.Kind)
		if kind != "" { // it is one of four, but for what was made by hand
			kind = cleanName(kind)
		}
		add(b.stack(name, box.Kind), box.Share, box.Running, label, kind)
	}
	if g.Idle > 0 || len(b.p.Sample) == 0 && !isWindow { // a profile without samples is an error to some
		add([]frame{{"[idle]", "idle"}}, g.Idle, 0, "[idle]", "idle")
	}
}

// stack is the stack of a box, leaf first as in a profile.
func (b *builder) stack(name string, kind bottle.Kind) []frame {
	leaf := frame{"[group] " + name, "group"}
	if b.grouped == "function" && isFunction(name) {
		leaf = frame{name, ""}
	}
	if kind == bottle.Application || kind == "" {
		return []frame{leaf}
	}
	return []frame{leaf, {"[" + cleanName(string(kind)) + "]", "kind"}}
}

// location returns the location of a frame, which has a function of its own.
func (b *builder) location(f frame) *profile.Location {
	if loc, ok := b.frames[f]; ok {
		return loc
	}
	id := uint64(len(b.frames) + 1)
	fn := &profile.Function{ID: id, Name: f.name, Filename: f.aspect}
	loc := &profile.Location{ID: id, Line: []profile.Line{{Function: fn}}}
	if f.aspect == "" {
		fn.SystemName = f.name
		loc.Mapping = b.code
	} // else the system name stays empty, or pprof would demangle what looks like C++
	b.frames[f] = loc
	b.p.Function = append(b.p.Function, fn)
	b.p.Location = append(b.p.Location, loc)
	return loc
}

// isFunction reports whether the name of a group is that of a function, such
// as "main.(*T).run" or "a.b/c.F[...]", and not one of ours, such as "12 others".
func isFunction(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	dot := strings.IndexByte(base, '.')
	return dot > 0 && !strings.ContainsAny(name[:len(name)-len(base)+dot], " ()[]")
}

// maxName is how many runes of a name are kept; real ones are far shorter.
const maxName = 1000

// cleanName makes a name safe to print and bounded; names come from the traced program.
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

// maxWarnings bounds the comments, as maxName bounds each of them.
const maxWarnings = 50

// comments tells what the profile shows, and the graph's own warnings.
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
	return append([]string{what}, warningComments(g.Warnings)...)
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

// codeMapping is the mapping of the program's code. Its file is the first word of the title that pprof shows, "unknown" without
// one. Everything else is known, so pprof does not look for symbols in the file.
func codeMapping(file, buildID string) *profile.Mapping {
	if file == "" {
		file = "program"
	}
	return &profile.Mapping{ID: 1, File: file, BuildID: buildID, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
}
