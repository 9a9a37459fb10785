package report

import (
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// verdictForm is the verdict in words: the page shows them as they are.
type verdictForm struct {
	Head     string        `json:"head"`
	Parts    []partOfAll   `json:"parts"`
	Findings []findingForm `json:"findings"`
	Warnings []string      `json:"warnings"`
}

type partOfAll struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Text  string  `json:"text"` // of the share
}

type findingForm struct {
	Title  string   `json:"title"`
	Where  []string `json:"where"`
	Advice string   `json:"advice,omitempty"`
	Gain   string   `json:"gain,omitempty"`
}

func newVerdictForm(v *verdict.Verdict) *verdictForm {
	if v == nil {
		return nil
	}
	out := &verdictForm{Head: v.Head(), Parts: []partOfAll{}, Findings: []findingForm{}, Warnings: append([]string{}, v.Warnings...)}
	for _, p := range v.Parts {
		out.Parts = append(out.Parts, partOfAll{format.Clean(p.Name), p.Share, format.Percent(p.Time, v.Capacity)})
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		form := findingForm{Title: f.Title, Where: []string{}, Advice: f.Advice, Gain: f.Bound()}
		for _, p := range f.Where {
			form.Where = append(form.Where, p.String())
		}
		out.Findings = append(out.Findings, form)
	}
	return out
}
