package query

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// WriteProfile writes the quanta of rows as a profile for go tool pprof: a sample for each group, top
// function and caller, with the number of quanta, their run time, and the sums of the known counters.
// Counters of levels have no sums.
func (e *Explorer) WriteProfile(w io.Writer, rows []int) error {
	rec := e.rec
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "quanta", Unit: "count"}, {Type: "running", Unit: "nanoseconds"}}, DefaultSampleType: "running",
		DurationNanos: int64(max(0, rec.Wall)), PeriodType: &profile.ValueType{Type: "wall", Unit: "nanoseconds"}, Period: 1,
	}
	if !rec.Start.IsZero() && rec.Start.After(time.Unix(0, 0)) {
		p.TimeNanos = rec.Start.UnixNano()
	}
	var columns [][]int64
	for _, c := range rec.Counters {
		if c.Level {
			continue
		}
		unit := map[string]string{"": "count", "ns": "nanoseconds"}[c.Unit]
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: strings.NewReplacer("-", "_", "/", "_").Replace(c.Name), Unit: cmp.Or(unit, c.Unit)})
		columns = append(columns, c.Values)
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
	type key struct{ group, fn, caller int32 }
	samples := map[key]*profile.Sample{}
	for _, row := range rows {
		k := key{rec.Group[row], rec.Func[row], e.callers[row]}
		s := samples[k]
		if s == nil {
			g := rec.Groups[k.group]
			s = &profile.Sample{Value: make([]int64, len(p.SampleType)), Label: map[string][]string{"group": {g.Name}, "kind": {g.Kind.String()}}}
			for _, f := range []int32{k.fn, k.caller} {
				if f > 0 {
					s.Location = append(s.Location, location(rec.Funcs[f]))
				}
			}
			s.Location = append(s.Location, location("[group] "+g.Name))
			samples[k] = s
			p.Sample = append(p.Sample, s)
		}
		s.Value[0]++
		s.Value[1] += rec.Duration[row]
		for i, values := range columns {
			if v := values[row]; v != quanta.Unknown {
				s.Value[2+i] += v
			}
		}
	}
	return p.Write(w)
}
