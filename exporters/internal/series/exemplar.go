package series

import (
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Exemplar names the largest contribution to a counter: the lock, its waiter and its owner.
type Exemplar struct {
	Labels []Label
	Value  float64 // the contribution to the counter, as measured by the analysis
	Time   time.Time
}

// Label is a name with a value.
type Label struct{ Name, Value string }

// maxExemplar is the maximum total length of the label names and values of an exemplar, in
// characters, as required by OpenMetrics.
const maxExemplar = 128

// exemplarsOf returns the exemplars of a report: of the parts of a kind of contention, and of the
// reasons for which a group is blocked.
func exemplarsOf(live *bottleneck.Live) map[cell]*Exemplar {
	out := map[cell]*Exemplar{}
	take := func(key cell, d time.Duration, labels ...Label) {
		if old := out[key]; d > 0 && (old == nil || d.Seconds() > old.Value) {
			out[key] = &Exemplar{Labels: fitting(labels), Value: d.Seconds(), Time: live.To}
		}
	}
	if p := live.Contention; p != nil {
		for i := range p.Pairs {
			q := &p.Pairs[i]
			take(cell{metric: waits, name: label(string(q.Kind)), part: contentionParts[0]}, q.Blamed,
				Label{"lock", lockTitle(q.Lock)}, Label{"waiter", q.Waiter.Group}, Label{"owner", q.Owner.Group})
		}
		for i := range p.Waits {
			w := &p.Waits[i]
			for i, d := range []time.Duration{w.HandOff, w.Unattributed} {
				take(cell{metric: waits, name: label(string(w.Kind)), part: contentionParts[1+i]}, d, Label{"lock", lockTitle(w.Lock)}, Label{"waiter", w.Waiter.Group})
			}
		}
	}
	if g := live.Bottle; g != nil {
		for i := range g.Boxes {
			b := &g.Boxes[i]
			for reason, sites := range b.Sites {
				if len(sites) > 0 {
					take(cell{blocked, label(b.Group), label(b.Kind.String()), label(reason)}, sites[0].Time, Label{"at", sites[0].Func})
				}
			}
		}
	}
	return out
}

func lockTitle(l *contention.Lock) string {
	if l == nil {
		return ""
	}
	return l.Title()
}

// fitting omits empty labels and truncates the others to fit into an exemplar.
func fitting(labels []Label) (out []Label) {
	room := maxExemplar
	for _, l := range labels {
		if l.Value != "" {
			out = append(out, Label{l.Name, format.Func(label(l.Value))})
			room -= len(l.Name)
		}
	}
	for i := range out {
		if v := []rune(out[i].Value); len(v) > room/len(out) {
			out[i].Value = string(v[:room/len(out)])
		}
	}
	return out
}
