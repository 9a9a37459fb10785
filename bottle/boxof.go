package bottle

import "github.com/bottleneck-go/bottleneck/timeline"

// BoxOf returns the group and the kind of the box that a goroutine's time goes to now, for
// observers that group as a graph does. world is the name of the stop-the-world range
// ([timeline.Range]) that the goroutine is in, or "".
func (g Grouping) BoxOf(gr *timeline.Goroutine, world string) (group string, kind Kind) {
	k := g.keyOf(gr, world)
	return k.name, k.kind
}
