package full

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/leaks"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Leaks shows the goroutines that wait forever, or returns the reason why the runtime cannot. It
// collects garbage when the result is written.
func (pages) Leaks() (*page.Shown, error) {
	leaked, err := leaks.Profile()
	if err != nil {
		return nil, err
	}
	collect := func() (*profile.Profile, error) {
		var text bytes.Buffer
		start := time.Now()
		if err := leaked.WriteTo(&text, 1); err != nil {
			return nil, err
		}
		return leakProfile(text.String(), start), nil
	}
	return &page.Shown{
		Text: func(w io.Writer) error {
			p, err := collect()
			if err != nil {
				return err
			}
			return leaksText(w, p)
		},
		Profile: writer(time.Time{}, collect),
	}, nil
}

// leakProfile returns the profile that the runtime has written as text. A parser of the other form
// would add 0.16 MB to a program.
func leakProfile(text string, start time.Time) *profile.Profile {
	p := newWallProfile(start, time.Since(start), "Goroutines that wait for what no goroutine can reach that may still run.")
	p.SampleType, p.DefaultSampleType = []*profile.ValueType{{Type: "goroutines", Unit: "count"}}, "goroutines"
	p.PeriodType = &profile.ValueType{Type: "goroutineleak", Unit: "count"}
	for line := range strings.Lines(text) {
		call := strings.FieldsFunc(strings.TrimSpace(line), func(r rune) bool { return r == '\t' })
		count, _, stack := strings.Cut(line, " @")
		if n, err := strconv.ParseInt(count, 10, 64); stack && err == nil {
			p.Sample = append(p.Sample, &profile.Sample{Value: []int64{n}})
		} else if n := len(p.Sample); n > 0 && len(call) == 4 { // #, the address, function+offset, file:line
			function, _ := cutLast(call[2], "+")
			file, line := cutLast(call[3], ":")
			number, _ := strconv.Atoi(line)
			p.Sample[n-1].Location = append(p.Sample[n-1].Location, location(p, function, file, number))
		}
	}
	return p
}

// cutLast cuts s at the last sep.
func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(sep):]
}

// leaksText writes the call chains of leaked goroutines.
func leaksText(w io.Writer, p *profile.Profile) error {
	var b bytes.Buffer
	total := int64(0)
	for _, s := range p.Sample {
		total += s.Value[0]
		fmt.Fprintf(&b, "\n%s\n", format.Plural(s.Value[0], "goroutine", "goroutines"))
		for _, l := range s.Location {
			fmt.Fprintf(&b, "    %s:%d\n", format.Clean(symbol.Unescape(l.Line[0].Function.Name)), l.Line[0].Line)
		}
	}
	_, err := fmt.Fprintf(w, "%s %s\n%s", p.Comments[0], format.Count(total), b.Bytes())
	return err
}
