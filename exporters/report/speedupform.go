package report

import (
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// stackForm is a speedup stack, with its components in the order in which they are stacked.
type stackForm struct {
	N          int        `json:"n"`
	Label      string     `json:"label"`
	Speedup    float64    `json:"speedup"`
	Estimate   bool       `json:"estimate"`
	Disturbed  bool       `json:"disturbed"`
	Remainder  float64    `json:"remainder"`
	Components []partForm `json:"components"`
	Workers    string     `json:"workers"`
	Count      int        `json:"count"`
	Sentence   string     `json:"sentence"`
	Warnings   []string   `json:"warnings"`
	// Windows are stacks of stretches of time, whose components are numbered as Parts are.
	Windows []stackWindow `json:"windows"`
	Parts   []partForm    `json:"parts"`
}

type partForm struct {
	Name   string  `json:"name"`
	Words  string  `json:"words"`
	Family string  `json:"family"`
	Value  float64 `json:"value"`
}

func newStackForm(s *speedup.Stack) stackForm {
	f := stackForm{
		N: s.N, Label: s.Label, Speedup: finite(s.Speedup), Estimate: s.Estimate, Disturbed: s.Disturbed, Remainder: finite(s.Remainder),
		Components: []partForm{}, Workers: format.Clean(s.Workers.Selector), Count: s.Workers.Count, Sentence: s.Sentence(), Warnings: append([]string{}, s.Warnings...),
		Windows: newStackWindows(s), Parts: []partForm{},
	}
	for _, c := range speedup.Delimiters() {
		f.Parts = append(f.Parts, partForm{Name: c.String(), Words: c.Words(), Family: c.Family().String()})
		if v := finite(s.Components[c]); v != 0 {
			f.Components = append(f.Components, partForm{c.String(), c.Words(), c.Family().String(), v})
		}
	}
	return f
}
