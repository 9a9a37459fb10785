package granularity

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Top returns a copy of the profile that keeps the n largest classes, and of each of them the
// largest sites, n for all classes together; it puts the other classes together as "(other)", and
// the other sites of a class into one without call chains. So everything still sums, in memory that
// follows n. It returns p itself if there is nothing to put together, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	sites := 0
	for i := range p.Classes {
		sites += len(p.Classes[i].Sites)
	}
	if n <= 0 || len(p.Classes) <= n && sites <= n {
		return p
	}
	out := *p
	classes := slices.Clone(p.Classes)
	order.Stable(classes, func(a, b Class) int {
		switch {
		case a.Name == otherClass:
			return 1 // of an earlier Top: it is not kept single
		case b.Name == otherClass:
			return -1
		}
		return int(min(1, max(-1, p.Granularity(&b).Sum()-p.Granularity(&a).Sum())))
	})
	out.Classes = classes[:min(n, len(classes))]
	each := max(1, n/max(1, len(out.Classes)))
	if rest := classes[len(out.Classes):]; len(rest) > 0 {
		out.Classes = append(slices.Clip(out.Classes), foldClasses(rest))
	}
	for i := range out.Classes {
		c := &out.Classes[i]
		c.Sites = p.topSites(c.Sites, each)
	}
	out.Diagnose()
	return &out
}

// otherClass is the class of tasks of which there was no room for their own.
const otherClass = "(other)"

func foldClasses(rest []Class) Class {
	sum := Class{Name: otherClass}
	for i := range rest {
		c := &rest[i]
		sum.Add(c)
		sum.ActiveShare = max(sum.ActiveShare, c.ActiveShare) // at least
		sum.Sites = append(sum.Sites, c.Sites...)
	}
	sum.Workers, sum.Longest = 0, 0 // they differ
	return sum
}

// topSites returns the n largest sites and one for the rest.
func (p *Profile) topSites(sites []Site, n int) []Site {
	if len(sites) <= n {
		return sites
	}
	sites = slices.Clone(sites)
	order.Stable(sites, func(a, b Site) int {
		return int(min(1, max(-1, p.SiteGranularity(&b).Sum()-p.SiteGranularity(&a).Sum())))
	})
	var rest Site
	kept := sites[:0]
	for _, s := range sites {
		if len(kept) < n && (s.Pool != "" || s.Created != nil || s.Submitted != nil) {
			kept = append(kept, s)
			continue
		}
		rest.add(&s)
	}
	if rest.Tasks > 0 {
		kept = append(kept, rest)
	}
	return kept
}
