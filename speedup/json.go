package speedup

import (
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
//	{"n":4, "speedup":2.9, "estimate":false, "components":{"sync-mutex":0.8, …}, "remainder":0.3,
//	 "disturbed":false, "warnings":[…], "workers":{"selector":"main.work", "count":4},
//	 "usage":{"per":"operation", "single":{"processor-time":1.2e6, …}, "multi":{…}}}
//
// Zero components are omitted. speedup + Σ components + remainder == n, up to rounding.

// MarshalJSON writes the stack as one JSON object, without the accounts. It fails for numbers that
// JSON cannot represent.
func (s Stack) MarshalJSON() ([]byte, error) {
	type fields Stack
	s.Warnings = append([]string{}, s.Warnings...) // [] instead of null
	b, err := json.Marshal(fields(s))
	return format.EscapeJSON(b), err
}

// MarshalJSON writes the delimiters that are not 0, by name.
func (p parts) MarshalJSON() ([]byte, error) {
	named := map[string]float64{}
	for _, c := range Delimiters() {
		if p[c] != 0 {
			named[c.String()] = p[c]
		}
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *parts) UnmarshalJSON(object []byte) error {
	var named map[string]float64
	if err := json.Unmarshal(object, &named); err != nil {
		return err
	}
	*p = parts{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		c, err := ParseComponent(name)
		if err != nil {
			return err
		}
		p[c] = named[name]
	}
	return nil
}

// CheckValid returns an error if a number is out of range, or the parts do not sum to N.
func (s *Stack) CheckValid() error {
	switch {
	case s.N < 1 || s.N > 1<<30:
		return fmt.Errorf("n is out of range: %d", s.N)
	case !(s.Idle >= 0 && s.Idle <= 1):
		return fmt.Errorf("idle is not between 0 and 1: %v", s.Idle)
	case s.Workers.Count < 0:
		return fmt.Errorf("workers.count is negative: %d", s.Workers.Count)
	case s.Speedup < 0:
		return fmt.Errorf("speedup is negative: %v", s.Speedup)
	case s.Components[Run] != 0:
		return errors.New(`"run" is no component: it is the speed-up and the remainder`)
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
		s := new(Stack)
		err := dec.Decode(s)
		if err == io.EOF {
			break
		}
		switch {
		case err == nil && s.N == 0:
			err = errors.New("this is no speedup stack: n is missing")
		case err == nil:
			err = s.CheckValid()
		}
		if err != nil {
			return nil, fmt.Errorf("speedup: reading JSON: object %d: %w", len(out)+1, format.ExplainJSON(err, "n, speedup and components"))
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("speedup: reading JSON: the input is empty")
	}
	return out, nil
}
