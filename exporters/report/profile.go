package report

import (
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/counters/query"
)

// writeProfile writes the quanta of a set as a profile: a sample for each group and function on
// top, with the number of quanta and the time for which they ran.
func writeProfile(w io.Writer, rec *quanta.Recording, set *query.Set) error {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "quanta", Unit: "count"}, {Type: "running", Unit: "nanoseconds"}}, DefaultSampleType: "running",
		DurationNanos: int64(max(0, rec.Wall)), PeriodType: &profile.ValueType{Type: "wall", Unit: "nanoseconds"}, Period: 1,
	}
	if !rec.Start.IsZero() && rec.Start.After(time.Unix(0, 0)) {
		p.TimeNanos = rec.Start.UnixNano()
	}
	locations := map[string]*profile.Location{}
	location := func(name string) *profile.Location {
		l := locations[name]
		if l == nil {
			id := uint64(len(p.Location) + 1)
			f := &profile.Function{ID: id, Name: name, SystemName: name}
			l = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			locations[name] = l
		}
		return l
	}
	type key struct{ group, fn int32 }
	samples := map[key]*profile.Sample{}
	for row := range set.Rows() {
		k := key{rec.Group[row], rec.Func[row]}
		s := samples[k]
		if s == nil {
			g := rec.Groups[k.group]
			s = &profile.Sample{Value: make([]int64, 2), Label: map[string][]string{"group": {g.Name}, "kind": {g.Kind.String()}}}
			if k.fn > 0 {
				s.Location = append(s.Location, location(rec.Funcs[k.fn]))
			}
			s.Location = append(s.Location, location("[group] "+g.Name))
			samples[k] = s
			p.Sample = append(p.Sample, s)
		}
		s.Value[0]++
		s.Value[1] += rec.Duration[row]
	}
	return p.Write(w)
}
