package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// Explorer answers queries about a [Recording]: see [Explorer.Answer]. It is safe for concurrent
// use; the recording must not change.
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

// Name is a name that metrics can use.
type Name struct {
	Name string `json:"name"` // as written in the language
	// Title is the counter's own name, or the meaning of a built-in name.
	Title    string          `json:"title"`
	Unit     string          `json:"unit"`
	Builtin  bool            `json:"builtin,omitempty"`
	Level    bool            `json:"level,omitempty"`
	Source   string          `json:"source,omitempty"`
	Accuracy quanta.Accuracy `json:"accuracy,omitempty"`
}

// builtins are the names available in every recording.
var builtins = []Name{
	{Name: "duration", Title: "duration of the quantum", Unit: "ns", Builtin: true},
	{Name: "gap", Title: "time since the goroutine's quantum before", Unit: "ns", Builtin: true},
	{Name: "begin", Title: "beginning of the quantum", Unit: "ns", Builtin: true},
	{Name: "end", Title: "end of the quantum", Unit: "ns", Builtin: true},
	{Name: "goroutine", Title: "number of the goroutine", Builtin: true},
	{Name: "thread", Title: "number of the thread", Builtin: true},
	{Name: "proc", Title: "number of the P", Builtin: true},
}

// Names returns the names that metrics can use: the built-in ones, and the counters of this
// recording.
func (e *Explorer) Names() []Name {
	out := slices.Clone(builtins)
	for i := range e.rec.Counters {
		c := &e.rec.Counters[i]
		out = append(out, Name{
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
	root, err := parse(word, (*lexer).metric)
	builtin := slices.ContainsFunc(builtins, func(b Name) bool { return b.Name == word })
	if err == nil && root.op == opName && root.word == word && !builtin && e.counter(word) == counter {
		return word
	}
	return quote(strings.ToValidUTF8(name, "\uFFFD"))
}

// counter returns the counter with a name, possibly with every "-" replaced by "_"; −1 if there is
// none.
func (e *Explorer) counter(word string) int {
	if i := e.exactly(word); i >= 0 {
		return i
	}
	return slices.IndexFunc(e.rec.Counters, func(c quanta.Counter) bool { return strings.ReplaceAll(c.Name, "-", "_") == word })
}

func (e *Explorer) exactly(name string) int {
	return slices.IndexFunc(e.rec.Counters, func(c quanta.Counter) bool { return c.Name == name })
}
