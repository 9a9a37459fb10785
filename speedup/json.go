package speedup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The JSON form of a stack:
//
//	{"n":4, "speedup":2.9, "estimate":false, "components":{"sync-mutex":0.8, …}, "remainder":0.3,
//	 "disturbed":false, "warnings":[…], "workers":{"selector":"main.work", "count":4}}
//
// Components that are 0 are left out. speedup + Σ components + remainder == n, up to rounding.
type stackJSON struct {
	N          *int               `json:"n"`
	Speedup    *float64           `json:"speedup"`
	Estimate   bool               `json:"estimate"`
	Components map[string]float64 `json:"components"`
	Remainder  *float64           `json:"remainder"`
	Disturbed  bool               `json:"disturbed"`
	Warnings   []string           `json:"warnings"`
	Workers    workersJSON        `json:"workers"`
}

type workersJSON struct {
	Selector string `json:"selector"`
	Count    int    `json:"count"`
}

// MarshalJSON writes the stack as one JSON object, without the accounts. It fails for numbers that
// JSON cannot hold.
func (s Stack) MarshalJSON() ([]byte, error) {
	form := stackJSON{
		N: &s.N, Speedup: &s.Speedup, Estimate: s.Estimate, Components: map[string]float64{}, Remainder: &s.Remainder,
		Disturbed: s.Disturbed, Warnings: append([]string{}, s.Warnings...), Workers: workersJSON(s.Workers),
	}
	for _, c := range Delimiters() {
		if v := s.Components[c]; v != 0 {
			form.Components[c.String()] = v
		}
	}
	b, err := json.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("speedup: writing JSON: %w", err)
	}
	return format.EscapeJSON(b), nil
}

// UnmarshalJSON replaces the stack by the one in a JSON object. It accepts what [ReadJSON] accepts.
func (s *Stack) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	var form stackJSON
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("speedup: reading JSON: %w", err)
	}
	out, err := form.stack()
	if err != nil {
		return fmt.Errorf("speedup: reading JSON: %w", err)
	}
	*s = *out
	return nil
}

func (form *stackJSON) stack() (*Stack, error) {
	switch {
	case form.N == nil || form.Speedup == nil || form.Components == nil || form.Remainder == nil:
		return nil, errors.New("this is no speedup stack: n, speedup, components or remainder is missing")
	case *form.N < 1 || *form.N > 1<<30:
		return nil, fmt.Errorf("n is out of range: %d", *form.N)
	case form.Workers.Count < 0:
		return nil, fmt.Errorf("workers.count is negative: %d", form.Workers.Count)
	case *form.Speedup < 0:
		return nil, fmt.Errorf("speedup is negative: %v", *form.Speedup)
	}
	s := &Stack{N: *form.N, Speedup: *form.Speedup, Estimate: form.Estimate, Remainder: *form.Remainder,
		Disturbed: form.Disturbed, Warnings: form.Warnings, Workers: Workers(form.Workers)}
	sum, size := s.Speedup+s.Remainder, math.Abs(s.Speedup)+math.Abs(s.Remainder)
	for _, name := range slices.Sorted(maps.Keys(form.Components)) {
		c, err := ParseComponent(name)
		if err != nil {
			return nil, err
		}
		if c == Run {
			return nil, errors.New(`"run" is no component: it is the speed-up and the remainder`)
		}
		s.Components[c] = form.Components[name]
		sum += s.Components[c]
		size += math.Abs(s.Components[c])
	}
	if !(math.Abs(sum-float64(s.N)) <= 1e-9*(size+float64(s.N))) {
		return nil, fmt.Errorf("the parts do not sum: they make %v, but n is %d", sum, s.N)
	}
	return s, nil
}

// WriteJSON writes stacks as JSON objects, one a line and in order; a single one is indented.
// Errors are those of w and of [Stack.MarshalJSON].
func WriteJSON(w io.Writer, stacks ...*Stack) error {
	for _, s := range stacks {
		b, err := s.MarshalJSON()
		if err != nil {
			return err
		}
		if len(stacks) == 1 {
			var buf bytes.Buffer
			if err := json.Indent(&buf, b, "", "  "); err != nil {
				return fmt.Errorf("speedup: writing JSON: %w", err)
			}
			b = buf.Bytes()
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// ReadJSON reads what [WriteJSON] wrote: one object or several. The error for anything else says
// which object is wrong, and why. Fields that it does not know are ignored.
func ReadJSON(r io.Reader) ([]*Stack, error) {
	dec := json.NewDecoder(r)
	var out []*Stack
	for {
		var form stackJSON
		err := dec.Decode(&form)
		if err == io.EOF {
			break
		}
		var s *Stack
		if err == nil {
			s, err = form.stack()
		} else {
			err = format.ExplainJSON(err, "n, speedup and components")
		}
		if err != nil {
			return nil, fmt.Errorf("speedup: reading JSON: object %d: %w", len(out)+1, err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("speedup: reading JSON: the input is empty")
	}
	return out, nil
}
