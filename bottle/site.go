package bottle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Site is a place in the program where members of a box waited or were in C: the innermost call in
// code that belongs neither to the standard library nor to cgo ([timeline.Stack.Site]).
type Site struct {
	// Func is the full name; "(unknown)" if the trace has no call chain, or "(others)" for
	// places beyond the limit.
	Func string        `json:"function"`
	File string        `json:"file,omitempty"`
	Line int           `json:"line,omitempty"`
	Time time.Duration `json:"ns"`
}

// Names for the absence of a place and for several places.
const (
	unknownSite = "(unknown)"
	otherSites  = "(others)"
)

// String returns the place as "main.work file.go:12", with the last elements of the paths.
func (s *Site) String() string {
	return s.place().String()
}

func (s *Site) place() timeline.Place {
	return timeline.Place{Func: s.Func, File: s.File, Line: s.Line}
}

// TopSite returns the place with the most time for a kind of wait (a key of Sites), or nil if none
// is known.
func (b *Box) TopSite(wait string) *Site {
	for i := range b.Sites[wait] {
		if s := &b.Sites[wait][i]; s.Func != otherSites && s.Func != unknownSite {
			return s
		}
	}
	return nil
}

// InCode is the key for the time in C: in Sites for all of it, in Waiting for the part that does
// not count as running.
var InCode = timeline.WaitC.String()

// maxSites bounds the number of places of a box. Later ones are combined.
const maxSites = 1024

// siteKey is a place and a kind of wait. The frame is nil if the place is unknown.
type siteKey struct {
	wait  timeline.Wait
	frame *timeline.Frame
}

// otherFrame stands for all places beyond maxSites.
var otherFrame = &timeline.Frame{Func: otherSites}

// siteTimes holds the times of a box by place.
type siteTimes struct {
	of     map[siteKey]*timeline.Time
	latest siteKey // that was looked up last
	time   *timeline.Time
}

// at returns the time of a place.
func (s *siteTimes) at(k siteKey) *timeline.Time {
	if s.time != nil && s.latest == k {
		return s.time
	}
	found := s.of[k]
	if found == nil && len(s.of) >= maxSites && k.frame != otherFrame {
		return s.at(siteKey{k.wait, otherFrame})
	}
	if found == nil {
		if s.of == nil {
			s.of = map[siteKey]*timeline.Time{}
		}
		found = new(timeline.Time)
		s.of[k] = found
	}
	s.latest, s.time = k, found
	return found
}

// sites returns the places for Box.Sites.
func (s *siteTimes) sites() map[string][]Site {
	if len(s.of) == 0 {
		return nil
	}
	out := map[string][]Site{}
	for k, t := range s.of {
		site := Site{Func: unknownSite, Time: time.Duration(*t)}
		if f := k.frame; f != nil {
			site.Func, site.File, site.Line = f.Func, f.File, f.Line
		}
		if site.Time > 0 {
			out[k.wait.String()] = append(out[k.wait.String()], site)
		}
	}
	for wait := range out {
		out[wait] = joinSites(out[wait], nil)
	}
	return out
}

// joinSites adds places, largest first.
func joinSites(a, b []Site) []Site {
	all := order.Merge(slices.Concat(a, b), func(a, b Site) int { return a.place().Compare(b.place()) }, func(sum, more *Site) { sum.Time += more.Time })
	order.Stable(all, func(a, b Site) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

// fewSites returns the largest places, and combines the others.
func fewSites(sites []Site, most int) []Site {
	if len(sites) <= most {
		return sites
	}
	rest := Site{Func: otherSites}
	for _, s := range sites[most-1:] {
		rest.Time += s.Time
	}
	return append(slices.Clone(sites[:most-1]), rest)
}

// addSites adds the places of b, with k times their times, to those of sum.
func (sum *Box) addSites(b *Box, k time.Duration) {
	for wait, sites := range b.Sites {
		if sum.Sites == nil {
			sum.Sites = map[string][]Site{}
		}
		sites = slices.Clone(sites)
		for i := range sites {
			sites[i].Time *= k
		}
		sum.Sites[wait] = joinSites(sum.Sites[wait], sites)
	}
}

// InC returns the total time in C of the goroutines of all boxes, and the part of it that counts as
// running.
func (g *Graph) InC() (all, running time.Duration) {
	for i := range g.Boxes {
		b := &g.Boxes[i]
		all += b.InC
		running += b.InC - b.Waiting[InCode]
	}
	return all, running
}

// cWarning returns a warning about the limits of what is known of goroutines in C, if there were
// any. n is their number, or 0 if unknown.
func (g *Graph) cWarning(n int) []string {
	all, running := g.InC()
	if all == 0 {
		return nil
	}
	if g.Offered {
		running = all
	}
	who := "Goroutines"
	if n > 0 {
		who = format.Plural(n, "goroutine", "goroutines")
	}
	return []string{fmt.Sprintf("%s ran C code for %s, which the scheduler does not see; %s of that counts as running, "+cReason, who, format.Duration(all), format.Duration(running))}
}

const cReason = "on processors that were free for it. A trace cannot tell whether C code computes or waits."
