package verdict

import "github.com/bottleneck-go/bottleneck/result"

// Columns are the columns of [Verdict.Findings].
var Columns = []result.Column[Finding]{
	{Name: "lost", Title: "lost", Unit: result.Duration, Part: true, Help: "the capacity that it cost",
		Value: func(f *Finding) (result.Value, bool) { return result.Int(f.Lost), true }},
	{Name: "kind", Title: "kind", Help: "the sort of the finding",
		Value: func(f *Finding) (result.Value, bool) { return result.Str(string(f.Kind)), true }},
	{Name: "function", Title: "function", Unit: result.Func, Help: "where in the program's own code",
		Value: result.Lists(func(f *Finding) (functions []string) {
			for _, p := range f.Where {
				functions = append(functions, p.Func)
			}
			return functions
		})},
	{Name: "gain", Title: "gain", Unit: result.Number, Help: "how many times as fast the program would be at best without it",
		Value: func(f *Finding) (result.Value, bool) { return result.Float(f.Gain), f.Gain > 0 }},
	{Name: "title", Title: "finding", Help: "the finding, as a sentence",
		Value: func(f *Finding) (result.Value, bool) { return result.Str(f.Title), true }},
}

// Table returns the findings as a table.
func (v *Verdict) Table() *result.Table { return result.New(Columns, v.Findings, v.Capacity) }
