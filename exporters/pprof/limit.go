package pprof

import (
	"fmt"

	"github.com/bottleneck-go/bottleneck/bottle"
)

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
	if fits(g) {
		return g, nil
	}
	graphs := max(1, len(g.Windows))
	most := len(g.Boxes)
	for _, w := range g.Windows {
		most = max(most, len(w.Boxes))
	}
	for k := min(most-1, (maxSamples-1)/graphs-others); k > 0; k /= 2 {
		folded := g.Top(k)
		if !fits(folded) {
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

// fits reports whether the profile of g is within the limits, with one sample per box and source.
// It uses an upper estimate of the size, because encoding the profile takes longer than building
// it.
func fits(g *bottle.Graph) bool {
	samples, bytes := size(g)
	return samples < maxSamples && bytes < maxBytes
}

// size returns the number of samples, without those of individual call stacks, and their size in
// bytes.
func size(g *bottle.Graph) (samples, bytes int) {
	graphs := g.Windows
	if len(graphs) == 0 {
		graphs = []*bottle.Graph{g}
	}
	seen := map[string]bool{}
	for _, g := range graphs {
		samples += len(g.Boxes) + 1
		for i := range g.Boxes {
			b := &g.Boxes[i]
			if len(b.Stacks) > 0 {
				samples += 3 // [not sampled], and [others] of two sources
			}
			if name := b.Group; !seen[name] {
				seen[name] = true
				bytes += 2 * min(len(name)+len("[group] "), 4*maxName) // in a frame and in a label
			}
		}
	}
	return samples, bytes + samples*sampleBytes
}

// sampleBytes bounds the encoded size of a sample with its location, function and labels, excluding
// strings: about 20 small integers and three of 9 bytes.
const sampleBytes = 120
