package bottle

import (
	"fmt"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/apportion"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Graph returns the bottle graph of the pass. It may be called once the pass has ended.
func (o *Observer) Graph() *Graph {
	if o.exited > o.opt.MaxSingle {
		o.foldExited()
	}
	o.uncovered()
	g := o.newGraph(o.from, o.to, &o.whole)
	g.Latency = o.latency
	g.merged = o.pieces.mark()
	for _, b := range o.boxes {
		g.addBox(b, &b.sum)
		if n := len(g.Boxes); n > 0 && b.sum.goroutines > 0 {
			g.Boxes[n-1].Sites = b.sites.sites()
			g.Boxes[n-1].Stacks = b.chains.stacks()
		}
	}
	g.finish()
	g.Windows = o.windows
	for _, of := range append([]*Graph{g}, g.Windows...) {
		of.CPUs = o.cpus
	}
	t := o.throttling[1].Since(o.throttling[0])
	g.Throttles, g.Throttled = t.Throttled, t.For
	g.Warnings = append(g.Warnings, o.warnings(g)...)
	return g
}

func (o *Observer) windowGraph() *Graph {
	g := o.newGraph(o.stretch.start, o.clock.now, &o.stretch.span)
	for _, b := range o.boxes {
		g.addBox(b, &b.win)
	}
	g.finish()
	return g
}

func (o *Observer) newGraph(from, to timeline.Time, s *span) *Graph {
	return &Graph{
		Start:     time.Duration(from - o.begin),
		Wall:      time.Duration(to - from - s.missed),
		Idle:      time.Duration(s.idle),
		Capacity:  time.Duration(s.capacity),
		IdleLost:  time.Duration(s.idleCapacity),
		Procs:     s.procs,
		Collector: s.collector,
		GoVersion: (&timeline.Info{Version: o.version}).GoVersion(),
		Offered:   o.opt.Offered,
		GroupBy:   o.opt.Group.String(),
	}
}

// addBox adds a box, unless none of it is in the graph.
func (g *Graph) addBox(b *box, a *account) {
	if a.goroutines == 0 {
		return
	}
	out := Box{
		Group:           b.key.name,
		Kind:            b.key.kind,
		Starts:          b.starts,
		Goroutines:      a.goroutines,
		Running:         time.Duration(a.running),
		Runnable:        time.Duration(a.runnable),
		InC:             time.Duration(a.inC),
		Waiting:         map[string]time.Duration{},
		SelfParallelism: ratio(time.Duration(a.running), time.Duration(a.any)),
		exact:           a.share,
		room:            a.room,
		busy:            time.Duration(a.any),
		known:           a.known,
		carried:         a.carried,
	}
	if b.folded {
		out.SelfParallelism, out.busy = math.NaN(), -1
	}
	for w, d := range a.waiting {
		if d != 0 {
			out.Waiting[timeline.Wait(w).String()] += time.Duration(d)
		}
	}
	if out.Kind == GC {
		g.Collector.Work += out.Running
	}
	g.Boxes = append(g.Boxes, out)
}

// finish rounds the shares to nanoseconds so that they and the idle time sum to the wall time,
// computes the losses of the boxes, and sorts the boxes.
//
// The shares lack the carry of the clock, which is less than the number of running goroutines in
// 2^-16 ns. Rounding up some boxes is therefore sufficient unless more than 65,536 goroutines run
// at once, which is possible in an offered graph. The rest then goes to the tallest box.
func (g *Graph) finish() {
	order.Stable(g.Boxes, compareName)
	exact := make([]uint64, len(g.Boxes))
	for i := range g.Boxes {
		exact[i] = uint64(g.Boxes[i].exact)
	}
	shares := apportion.Round(int64(g.Wall-g.Idle), exact, fracBits)
	for i := range g.Boxes {
		b := &g.Boxes[i]
		b.Share = time.Duration(shares[i])
		b.Parallelism = b.width()
		b.roundStacks()
	}
	g.Collector.Share = g.shareOf(GC)
	g.lose()
	order.Stable(g.Boxes, compareStack)
}

func (o *Observer) warnings(g *Graph) (w []string) {
	if o.tooMany {
		w = append(w, fmt.Sprintf("More than %s windows: the later ones are missing.", format.Count(maxWindows)))
	}
	if g.Wall > maxWall {
		w = append(w, fmt.Sprintf("The graph covers %v: shares are right up to 39 hours only.", g.Wall))
	}
	if o.minProcs != o.whole.procs {
		w = append(w, fmt.Sprintf("GOMAXPROCS changed during the trace, between %d and %d.", o.minProcs, o.whole.procs))
	}
	if o.version < 22 {
		w = append(w, fmt.Sprintf("A trace of Go 1.%d: its goroutine states are less exact than those since Go 1.22.", o.version))
	}
	return append(append(w, g.unnamedWarning()...), g.cWarning(o.inC)...)
}

// unnamedWarning returns a warning if many goroutines have no name.
func (g *Graph) unnamedWarning() []string {
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Group == unnamed && b.Share*20 > g.Wall {
			return []string{fmt.Sprintf("%s of the time "+unnamedReason, format.Percent(b.Share, g.Wall))}
		}
	}
	return nil
}

const unnamedReason = "belongs to goroutines that are older than the trace and never blocked: it does not have their names."

// unnamed is timeline's name for a goroutine without a name.
var unnamed = (&timeline.Goroutine{}).Name()
