package timeline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Place is a place in the source. The zero value is a place that is not known.
type Place struct {
	Func string `json:"func,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String returns the place as "main.work file.go:12", with the last element of the path, or "" if
// it is not known.
func (p Place) String() string {
	name := format.Func(p.Func)
	if source := p.Source(); source != "" {
		return name + " " + source
	}
	return name
}

// Source returns the place as "file.go:12", or "" if it is not known.
func (p Place) Source() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", format.Clean(p.File[strings.LastIndexAny(p.File, `/\`)+1:]), p.Line)
}

// Compare orders places by function, file and line.
func (p Place) Compare(q Place) int {
	return cmp.Or(strings.Compare(p.Func, q.Func), strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}
