package bottle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	name := format.Func(s.Func)
	if s.File == "" {
		return name
	}
	file := s.File[strings.LastIndexAny(s.File, `/\`)+1:]
	return fmt.Sprintf("%s %s:%d", name, format.Clean(file), s.Line)
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
	list   []siteTime
	latest int             // index of the place that was looked up last
	index  map[siteKey]int // of list; nil while there are few places
}

type siteTime struct {
	siteKey
	time timeline.Time
}

// fewSiteTimes is the number of places up to which they are searched linearly.
const fewSiteTimes = 8

// at returns the time of a place. It is valid until the next call.
func (s *siteTimes) at(k siteKey) *timeline.Time {
	if i := s.latest; i < len(s.list) && s.list[i].siteKey == k {
		return &s.list[i].time
	}
	i, known := 0, false
	if s.index == nil {
		for i < len(s.list) && s.list[i].siteKey != k {
			i++
		}
		known = i < len(s.list)
	} else {
		i, known = s.index[k]
	}
	if !known && len(s.list) >= maxSites && k.frame != otherFrame {
		return s.at(siteKey{k.wait, otherFrame})
	}
	if !known {
		i = len(s.list)
		s.list = append(s.list, siteTime{siteKey: k})
		switch {
		case s.index != nil:
			s.index[k] = i
		case len(s.list) > fewSiteTimes:
			s.index = map[siteKey]int{}
			for i := range s.list {
				s.index[s.list[i].siteKey] = i
			}
		}
	}
	s.latest = i
	return &s.list[i].time
}

func (s *siteTimes) add(more *siteTimes) {
	for i := range more.list {
		*s.at(more.list[i].siteKey) += more.list[i].time
	}
}

// sites returns the places for Box.Sites.
func (s *siteTimes) sites() map[string][]Site {
	if len(s.list) == 0 {
		return nil
	}
	out := map[string][]Site{}
	for _, t := range s.list {
		site := Site{Func: unknownSite, Time: time.Duration(t.time)}
		if f := t.frame; f != nil {
			site.Func, site.File, site.Line = f.Func, f.File, f.Line
		}
		if site.Time > 0 {
			out[t.wait.String()] = append(out[t.wait.String()], site)
		}
	}
	for wait := range out {
		out[wait] = joinSites(out[wait], nil)
	}
	return out
}

// joinSites adds places, largest first.
func joinSites(a, b []Site) []Site {
	all := slices.Concat(a, b)
	order.Stable(all, comparePlace)
	n := 0
	for i := range all {
		if n > 0 && comparePlace(all[n-1], all[i]) == 0 {
			all[n-1].Time += all[i].Time
			continue
		}
		all[n] = all[i]
		n++
	}
	all = all[:n]
	order.Stable(all, func(a, b Site) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

func comparePlace(a, b Site) int {
	return cmp.Or(strings.Compare(a.Func, b.Func), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
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
