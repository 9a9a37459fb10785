package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// Explorer answers queries about a [quanta.Recording]; see [Explorer.Answer]. It is safe for
// concurrent use; the recording must not change.
type Explorer struct {
	rec     *quanta.Recording
	callers []int32 // by row; all 0 if none is known

	once   sync.Once // guards the fields below
	prev   []int32   // previous row of the same goroutine; −1 if none
	number []int32   // numbers of goroutines by row, from 0 in the order of their first rows
	ids    []int64   // ids by number
	groups []int32   // groups by number; see mainGroups
}

// NewExplorer returns an Explorer of a recording. It returns an error if the recording is not a
// valid table: columns of different lengths, names that do not exist, rows out of order, negative
// durations.
func NewExplorer(rec *quanta.Recording) (*Explorer, error) {
	if rec == nil {
		return nil, errors.New("query: no recording")
	}
	if err := rec.CheckValid(); err != nil {
		return nil, fmt.Errorf("query: broken recording: %w", err)
	}
	e := &Explorer{rec: rec, callers: rec.Caller}
	if len(e.callers) == 0 {
		e.callers = make([]int32, rec.Len())
	}
	return e, nil
}

// Recording returns the recording, which must not be changed.
func (e *Explorer) Recording() *quanta.Recording { return e.rec }

// metricName is a name that metrics can use.
type metricName struct {
	Name     string `json:"name"`  // as written in the language
	Title    string `json:"title"` // the counter's own name, or the meaning of a built-in name
	Unit     string `json:"unit"`
	Builtin  bool   `json:"builtin,omitempty"`
	Level    bool   `json:"level,omitempty"`
	Source   string `json:"source,omitempty"`
	Accuracy string `json:"accuracy,omitempty"`
}

// builtin is a name that is available in every recording.
type builtin struct {
	name, title, unit string
	of                func(*Explorer) column
}

var builtins = []builtin{
	{"duration", "duration of the quantum", "ns", func(e *Explorer) column { return integers(e.rec.Duration, quanta.Unknown) }},
	{"gap", "time since the goroutine's quantum before", "ns", func(e *Explorer) column {
		return sincePrevious(e, func(row, prev int) float64 {
			return float64(e.rec.Begin[row] - e.rec.Begin[prev] - e.rec.Duration[prev])
		})
	}},
	{"begin", "beginning of the quantum", "ns", func(e *Explorer) column { return integers(e.rec.Begin, quanta.Unknown) }},
	{"end", "end of the quantum", "ns", func(e *Explorer) column {
		return func(row int) float64 { return float64(e.rec.Begin[row] + e.rec.Duration[row]) }
	}},
	{"goroutine", "number of the goroutine", "", func(e *Explorer) column { return integers(e.rec.Goroutine, quanta.Unknown) }},
	{"thread", "number of the thread", "", func(e *Explorer) column { return integers(e.rec.Thread, 0) }},
	{"proc", "number of the P", "", func(e *Explorer) column { return integers(e.rec.Proc, 0) }},
}

// Names returns the names that metrics can use: the built-in ones, and the counters of this
// recording.
func (e *Explorer) Names() (out []metricName) {
	for _, b := range builtins {
		out = append(out, metricName{Name: b.name, Title: b.title, Unit: b.unit, Builtin: true})
	}
	for i := range e.rec.Counters {
		c := &e.rec.Counters[i]
		out = append(out, metricName{
			Name: e.written(i), Title: c.Name, Unit: parseUnit(c.Unit).String(),
			Level: c.Level, Source: c.Source, Accuracy: c.Accuracy,
		})
	}
	return out
}

// written returns the name of a counter in a metric.
func (e *Explorer) written(counter int) string {
	name := e.rec.Counters[counter].Name
	word := strings.ReplaceAll(name, "-", "_")
	l := lexer{text: word}
	reserved := isField(word) || slices.Contains(functions, word) || slices.Contains([]string{"all", "none", "in"}, word) ||
		slices.ContainsFunc(builtins, func(b builtin) bool { return b.name == word })
	if l.name() == word && word != "" && !reserved && e.counter(word, false) == counter {
		return word
	}
	return quote(strings.ToValidUTF8(name, "\uFFFD"))
}

// counter returns the counter with a name or, unless exact, that with "-" instead of "_"; −1 if
// there is none.
func (e *Explorer) counter(word string, exact bool) int {
	i := slices.IndexFunc(e.rec.Counters, func(c quanta.Counter) bool { return c.Name == word })
	if i < 0 && !exact {
		i = slices.IndexFunc(e.rec.Counters, func(c quanta.Counter) bool { return strings.ReplaceAll(c.Name, "-", "_") == word })
	}
	return i
}
