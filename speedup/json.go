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

// The JSON form of a stack has its exported fields, named by their tags:
//
//	{"n":4, "speedup":2.9, "estimate":false, "remainder":0.3, "disturbed":false, "warnings":[…],
//	 "workers":{"selector":"main.work", "count":4}, "components":{"sync-mutex":0.8, …},
//	 "usage":{"per":"operation", "single":{"processor-time":1.2e6, …}, "multi":{…}}}
//
// Zero components are omitted. speedup + Σ components + remainder == n, up to rounding.
type (
	stackFields Stack
	stackJSON   struct {
		stackFields
		Components map[string]float64 `json:"components"`
	}
)

// MarshalJSON writes the stack as one JSON object, without the accounts. It fails for numbers that
// JSON cannot represent.
func (s Stack) MarshalJSON() ([]byte, error) {
	out := stackJSON{stackFields(s), map[string]float64{}}
	out.Warnings = append([]string{}, s.Warnings...)
	for _, c := range Delimiters() {
		if v := s.Components[c]; v != 0 {
			out.Components[c.String()] = v
		}
	}
	b, err := json.Marshal(out)
	return format.EscapeJSON(b), err
}

// UnmarshalJSON replaces the stack by the one in a JSON object. It accepts what [ReadJSON] accepts.
func (s *Stack) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	if err := s.decode(data); err != nil {
		return fmt.Errorf("speedup: reading JSON: %w", err)
	}
	return nil
}

// decode sets the stack to the contents of an object. It leaves s unchanged on error.
func (s *Stack) decode(object []byte) error {
	missing := math.NaN()
	in := stackJSON{stackFields: stackFields{Speedup: missing, Remainder: missing}}
	if err := json.Unmarshal(object, &in); err != nil {
		return format.ExplainJSON(err, "n, speedup and components")
	}
	if math.IsNaN(in.Speedup) || math.IsNaN(in.Remainder) || in.Components == nil {
		return errors.New("this is no speedup stack: n, speedup, components or remainder is missing")
	}
	out := Stack(in.stackFields)
	for _, name := range slices.Sorted(maps.Keys(in.Components)) {
		c, err := ParseComponent(name)
		if err != nil {
			return err
		}
		if c == Run {
			return errors.New(`"run" is no component: it is the speed-up and the remainder`)
		}
		out.Components[c] = in.Components[name]
	}
	if err := out.CheckValid(); err != nil {
		return err
	}
	*s = out
	return nil
}

// CheckValid returns an error if a number is out of range, or the parts do not sum to N.
func (s *Stack) CheckValid() error {
	switch {
	case s.N < 1 || s.N > 1<<30:
		return fmt.Errorf("n is out of range: %d", s.N)
	case s.Workers.Count < 0:
		return fmt.Errorf("workers.count is negative: %d", s.Workers.Count)
	case s.Speedup < 0:
		return fmt.Errorf("speedup is negative: %v", s.Speedup)
	case !slices.IsSorted(s.Runs) || len(s.Runs) > 0 && !(s.Runs[0] >= 0):
		return fmt.Errorf("runs are negative or not in order: %v", s.Runs)
	}
	sum, size := s.Speedup+s.Remainder, math.Abs(s.Speedup)+math.Abs(s.Remainder)
	for _, v := range s.Components {
		sum += v
		size += math.Abs(v)
	}
	if !(math.Abs(sum-float64(s.N)) <= 1e-9*(size+float64(s.N))) {
		return fmt.Errorf("the parts do not sum: they make %v, but n is %d", sum, s.N)
	}
	if s.Usage != nil {
		return s.Usage.checkValid()
	}
	return nil
}

// WriteJSON writes stacks as JSON objects in order, one per line; a single stack is indented. It
// returns errors of w and of [Stack.MarshalJSON].
func WriteJSON(w io.Writer, stacks ...*Stack) error {
	enc := json.NewEncoder(w)
	if len(stacks) == 1 {
		enc.SetIndent("", "  ")
	}
	for _, s := range stacks {
		if err := enc.Encode(s); err != nil {
			return fmt.Errorf("speedup: writing JSON: %w", err)
		}
	}
	return nil
}

// ReadJSON reads the output of [WriteJSON]: one or more objects. An error names the invalid object
// and the reason. Unknown fields are ignored.
func ReadJSON(r io.Reader) ([]*Stack, error) {
	dec := json.NewDecoder(r)
	var out []*Stack
	for {
		var object json.RawMessage
		err := dec.Decode(&object)
		if err == io.EOF {
			break
		}
		s := new(Stack)
		if err == nil {
			err = s.decode(object)
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
