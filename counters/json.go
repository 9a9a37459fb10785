package counters

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The JSON form of a recording: one object of columns, all times in nanoseconds.
//
//	{"name":…, "go_version":…, "procs":…, "start":"2026-01-02T15:04:05Z" or "", "wall":…,
//	 "endings":["other","blocked",…], "waits":["none",…], "funcs":["",…], "groups":[{"name":…,"kind":"application"}],
//	 "goroutine":[…], "group":[…], "thread":[…], "proc":[…], "begin":[…], "duration":[…], "ended":[…], "wait":[…], "func":[…],
//	 "counters":[{"name":…,"unit":…,"level":false,"source":…,"accuracy":…,"values":[1,null,…],"total":…,"remainder":…}],
//	 "markers":[{"time":…,"goroutine":…,"text":…}], "spans":[{"name":…,"begin":…,"end":…}], "warnings":[…]}
//
// The columns group, ended, wait and func are indexes into the lists of names. A value that is not
// known is null.

// recordingJSON is the head of the form: all but the columns, which are written as a stream.
type recordingJSON struct {
	Name      string        `json:"name"`
	GoVersion string        `json:"go_version"`
	Procs     int           `json:"procs"`
	Start     string        `json:"start"`
	Wall      int64         `json:"wall"`
	Endings   []string      `json:"endings"`
	Waits     []string      `json:"waits"`
	Funcs     []string      `json:"funcs"`
	Groups    []groupJSON   `json:"groups"`
	Markers   []markerJSON  `json:"markers"`
	Spans     []spanJSON    `json:"spans"`
	Warnings  []string      `json:"warnings"`
	Counters  []counterJSON `json:"counters,omitempty"`
	columnsJSON
}

type columnsJSON struct {
	Goroutine []int64 `json:"goroutine,omitempty"`
	Group     []int32 `json:"group,omitempty"`
	Thread    []int64 `json:"thread,omitempty"`
	Proc      []int32 `json:"proc,omitempty"`
	Begin     []int64 `json:"begin,omitempty"`
	Duration  []int64 `json:"duration,omitempty"`
	Ended     []int   `json:"ended,omitempty"`
	Wait      []int   `json:"wait,omitempty"`
	Func      []int32 `json:"func,omitempty"`
}

type groupJSON struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type markerJSON struct {
	Time      int64  `json:"time"`
	Goroutine int64  `json:"goroutine"`
	Text      string `json:"text"`
}

type spanJSON struct {
	Name  string `json:"name"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
}

type counterJSON struct {
	Name      string   `json:"name"`
	Unit      string   `json:"unit"`
	Level     bool     `json:"level"`
	Source    string   `json:"source"`
	Accuracy  Accuracy `json:"accuracy"`
	Total     int64    `json:"total"`
	Remainder int64    `json:"remainder"`
	Values    []*int64 `json:"values,omitempty"`
}

// WriteJSON writes a recording as JSON, or only the rows of a set of it (nil means all). A
// counter's remainder is then what belongs to no row that is written. [ReadJSON] reads it. The
// errors are that of a broken recording and those of w.
func WriteJSON(w io.Writer, rec *Recording, set *Set) error {
	if err := rec.check(); err != nil {
		return fmt.Errorf("counters: writing JSON: %w", err)
	}
	if set == nil {
		set = AllRows(rec.Len())
	}
	head, err := json.Marshal(head(rec))
	if err != nil {
		return fmt.Errorf("counters: writing JSON: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.Write(head[:len(head)-1]) // without the last brace; bufio keeps the first error
	writeColumn(out, "goroutine", rec.Goroutine, set)
	writeColumn(out, "group", rec.Group, set)
	writeColumn(out, "thread", rec.Thread, set)
	writeColumn(out, "proc", rec.Proc, set)
	writeColumn(out, "begin", rec.Begin, set)
	writeColumn(out, "duration", rec.Duration, set)
	writeColumn(out, "ended", rec.Ending, set)
	writeColumn(out, "wait", rec.Wait, set)
	writeColumn(out, "func", rec.Func, set)
	_, _ = out.WriteString(",\n\"counters\":[")
	for i := range rec.Counters {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		writeCounter(out, &rec.Counters[i], set)
	}
	_, _ = out.WriteString("]}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("counters: writing JSON: %w", err)
	}
	return nil
}

func head(rec *Recording) *recordingJSON {
	h := &recordingJSON{
		Name: rec.Name, GoVersion: rec.GoVersion, Procs: rec.Procs, Wall: int64(rec.Wall),
		Endings: endingNames[:], Waits: waitValues, Funcs: append([]string{}, rec.Funcs...),
		Groups: []groupJSON{}, Markers: []markerJSON{}, Spans: []spanJSON{}, Warnings: append([]string{}, rec.Warnings...),
	}
	if !rec.Start.IsZero() {
		h.Start = rec.Start.UTC().Format(time.RFC3339Nano)
	}
	for _, g := range rec.Groups {
		h.Groups = append(h.Groups, groupJSON{g.Name, g.Kind.String()})
	}
	for _, m := range rec.Markers {
		h.Markers = append(h.Markers, markerJSON(m))
	}
	for _, s := range rec.Spans {
		h.Spans = append(h.Spans, spanJSON(s))
	}
	return h
}

// writeColumn writes a column as a member of the object.
func writeColumn[T ~int64 | ~int32 | ~uint8](out *bufio.Writer, name string, column []T, set *Set) {
	_, _ = out.WriteString(",\n\"" + name + "\":[")
	var buf []byte
	first := true
	for row := range set.Rows() {
		buf = buf[:0]
		if !first {
			buf = append(buf, ',')
		}
		first = false
		_, _ = out.Write(strconv.AppendInt(buf, int64(column[row]), 10))
	}
	_ = out.WriteByte(']')
}

func writeCounter(out *bufio.Writer, c *Counter, set *Set) {
	form := counterJSON{Name: c.Name, Unit: c.Unit, Level: c.Level, Source: c.Source, Accuracy: c.Accuracy, Total: c.Total}
	if !c.Level {
		form.Remainder = c.Total
		for row := range set.Rows() {
			if c.Values[row] != Unknown {
				form.Remainder -= c.Values[row]
			}
		}
	}
	head, _ := json.Marshal(form) // cannot fail: strings and numbers
	_, _ = out.Write(head[:len(head)-1])
	_, _ = out.WriteString(",\"values\":[")
	var buf []byte
	first := true
	for row := range set.Rows() {
		buf = buf[:0]
		if !first {
			buf = append(buf, ',')
		}
		first = false
		if v := c.Values[row]; v == Unknown {
			buf = append(buf, "null"...)
		} else {
			buf = strconv.AppendInt(buf, v, 10)
		}
		_, _ = out.Write(buf)
	}
	_, _ = out.WriteString("]}")
}

// ReadJSON reads a recording that [WriteJSON] wrote. The error tells what is wrong with it; what it
// returns is a table that [NewExplorer] accepts.
func ReadJSON(r io.Reader) (*Recording, error) {
	var form recordingJSON
	dec := json.NewDecoder(r)
	if err := dec.Decode(&form); err != nil {
		return nil, fmt.Errorf("counters: reading JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("counters: reading JSON: something follows the recording")
	}
	rec, err := form.recording()
	if err == nil {
		err = rec.check()
	}
	if err != nil {
		return nil, fmt.Errorf("counters: reading JSON: %w", err)
	}
	return rec, nil
}

func (f *recordingJSON) recording() (*Recording, error) {
	rec := &Recording{
		Name: f.Name, GoVersion: f.GoVersion, Procs: f.Procs, Wall: time.Duration(f.Wall),
		Goroutine: f.Goroutine, Group: f.Group, Thread: f.Thread, Proc: f.Proc, Begin: f.Begin, Duration: f.Duration, Func: f.Func,
		Funcs: f.Funcs, Warnings: f.Warnings,
	}
	var err error
	if f.Start != "" {
		if rec.Start, err = time.Parse(time.RFC3339Nano, f.Start); err != nil {
			return nil, err
		}
	}
	if rec.Ending, err = indexes[Ending](f.Ended, f.Endings, endingNames[:]); err != nil {
		return nil, fmt.Errorf("ended: %w", err)
	}
	if rec.Wait, err = indexes[timeline.Wait](f.Wait, f.Waits, waitValues); err != nil {
		return nil, fmt.Errorf("wait: %w", err)
	}
	for _, g := range f.Groups {
		kind, err := indexes[timeline.Kind]([]int{0}, []string{g.Kind}, kindValues)
		if err != nil {
			return nil, err
		}
		rec.Groups = append(rec.Groups, Group{g.Name, kind[0]})
	}
	for _, m := range f.Markers {
		rec.Markers = append(rec.Markers, Marker(m))
	}
	for _, s := range f.Spans {
		rec.Spans = append(rec.Spans, Span(s))
	}
	for i := range f.Counters {
		c := &f.Counters[i]
		out := Counter{Name: c.Name, Unit: c.Unit, Level: c.Level, Source: c.Source, Accuracy: c.Accuracy, Total: c.Total, Remainder: c.Remainder}
		out.Values = make([]int64, len(c.Values))
		for row, v := range c.Values {
			out.Values[row] = Unknown
			if v != nil {
				out.Values[row] = *v
			}
		}
		rec.Counters = append(rec.Counters, out)
	}
	return rec, nil
}

// indexes turns indexes into a list of names into values of those that are known here; others
// become the first of them that says so.
func indexes[T ~uint8](column []int, list, known []string) ([]T, error) {
	table := make([]T, len(list))
	for i, name := range list {
		table[i] = unknownName[T](known)
		for j, k := range known {
			if k == name {
				table[i] = T(j)
			}
		}
	}
	out := make([]T, len(column))
	for row, index := range column {
		if index < 0 || index >= len(table) || index > math.MaxUint8 {
			return nil, fmt.Errorf("there is no name with the index %d", index)
		}
		out[row] = table[index]
	}
	return out, nil
}

// unknownName is the value called "other", or the first.
func unknownName[T ~uint8](known []string) T {
	for j, k := range known {
		if k == "other" {
			return T(j)
		}
	}
	return 0
}
