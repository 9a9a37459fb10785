package granularity

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The JSON form of a profile has its exported fields, named by their tags. It also has derived
// values that a program needs: quantiles, and the lines that create and submit tasks.

// utilizationJSON is the JSON form of a utilization, with null for what is unknown.
type utilizationJSON struct {
	By         string   `json:"by"`
	Processors float64  `json:"processors"`
	Mean       *float64 `json:"mean"`
	Half       *float64 `json:"half_95"`
}

// fields have the tags of their types, but no methods.
type (
	profileFields Profile
	classFields   Class
)

// WriteJSON writes the profile as one line, like [Profile.MarshalJSON]. It returns errors of w, and
// an error if a number in the profile is not finite.
func WriteJSON(w io.Writer, p *Profile) error {
	text, err := json.Marshal(p)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("granularity: writing JSON: %w", err)
	}
	return nil
}

// MarshalJSON writes the essentials first:
//
//	source, accuracy, hz, warnings[], classes[]
//	  class, tasks, cycles{p1,p25,p50,p75,p99,mean,sum,…}, wall_ns{…}, blocked_ns{…},
//	  diagnosis (fine, coarse, blocked, ok, unknown, …), reasons[], created_at[], submitted_at[]
//
// A profile from a trace also has running_ns{…}; its cycles and hz are null. Further fields hold what
// [ReadJSON] needs. If there are samples, utilization[]{by,processors,mean,half_95} has their
// [Profile.Utilizations], with null for what is unknown. The log is not written. Lists are never
// null.
func (p Profile) MarshalJSON() ([]byte, error) {
	out := struct {
		Source   string   `json:"source"`
		Accuracy string   `json:"accuracy"`
		Hz       *float64 `json:"hz"`
		Warnings []string `json:"warnings"`
		Classes  []Class  `json:"classes"`
		profileFields
		Utilization []utilizationJSON `json:"utilization,omitempty"`
	}{p.Source, p.Accuracy, &p.Hz, list(p.Warnings), list(p.Classes), profileFields(p), nil}
	for _, u := range p.Utilizations() {
		known := func(v float64) *float64 {
			if math.IsNaN(v) {
				return nil
			}
			return &v
		}
		if len(p.Samples) > 0 {
			out.Utilization = append(out.Utilization, utilizationJSON{u.By, u.Processors, known(u.Mean), known(u.Half)})
		}
	}
	if p.Hz == 0 {
		out.Hz = nil
	}
	if p.Instances <= 1 {
		out.Instances = 0
	}
	out.Samples, out.Pauses = list(p.Samples), list(p.Pauses)
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return format.EscapeJSON(text), nil
}

// MarshalJSON writes the class as a JSON object, like [Profile.MarshalJSON]. The reasons end with
// the advice.
func (c Class) MarshalJSON() ([]byte, error) {
	out := struct {
		classFields
		CreatedAt   []string `json:"created_at"`
		SubmittedAt []string `json:"submitted_at"`
	}{
		classFields(c),
		c.places(func(s *Site) []Frame { return s.Created }),
		c.places(func(s *Site) []Frame { return s.Submitted }),
	}
	if c.Diagnosis == "" {
		out.Diagnosis = Unknown
	}
	out.Reasons, out.Advice = append(list(c.Reasons), c.Advice...), list(c.Advice)
	out.Series, out.Sites = list(c.Series), list(c.Sites)
	return json.Marshal(out)
}

// list returns a copy that is not nil.
func list[T any](s []T) []T { return append([]T{}, s...) }

// places returns the leaves of the sites' call chains, without duplicates.
func (c *Class) places(chain func(*Site) []Frame) []string {
	seen := map[string]bool{"": true}
	out := []string{}
	for i := range c.Sites {
		if name := at(chain(&c.Sites[i])); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// ReadJSON reads a profile written by [WriteJSON] or json.Marshal. The diagnosis is that of the
// machine that recorded it; [Profile.Diagnose] computes it again.
//
// The result is always valid: see [Profile.CheckValid]. Unknown names are ignored.
func ReadJSON(r io.Reader) (*Profile, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("granularity: reading JSON: %w", err)
	}
	p := new(Profile)
	if err := p.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON replaces the profile with the one in a JSON object. It accepts the same input as
// [ReadJSON]. On error, the profile is unchanged.
func (p *Profile) UnmarshalJSON(text []byte) error {
	if string(bytes.TrimSpace(text)) == "null" {
		return nil // the convention of encoding/json
	}
	var in profileFields
	err := json.Unmarshal(text, &in)
	read := Profile(in)
	switch {
	case err != nil:
	case read.Classes == nil:
		err = errors.New("this is no profile of tasks: classes is missing")
	default:
		for i := range read.Classes {
			c := &read.Classes[i]
			if n := len(c.Reasons) - len(c.Advice); n >= 0 && slices.Equal(c.Reasons[n:], c.Advice) {
				c.Reasons = c.Reasons[:n:n]
			}
		}
		if read.Instances == 1 {
			read.Instances = 0
		}
		err = read.CheckValid()
	}
	if err != nil {
		return fmt.Errorf("granularity: reading JSON: %w", format.ExplainJSON(err, "source and classes"))
	}
	*p = read
	return nil
}

// CheckValid returns an error if a number is out of range: no time may be negative, no distribution
// may count more than there are tasks, and no sum may overflow.
func (p *Profile) CheckValid() error {
	switch {
	case !(p.Hz >= 0 && p.Hz <= 1e15):
		return fmt.Errorf("hz is out of range: %v", p.Hz)
	case p.Procs < 0 || p.Procs > 1<<20:
		return fmt.Errorf("gomaxprocs is out of range: %d", p.Procs)
	case p.Instances < 0 || p.Instances > 1<<20:
		return fmt.Errorf("instances is out of range: %d", p.Instances)
	case p.Wall < 0 || p.Overhead < 0:
		return errors.New("run_ns or overhead_ns is negative")
	}
	for i, s := range append([]Sample{p.Run}, p.Samples...) {
		if slices.ContainsFunc(s.times(), func(d *time.Duration) bool { return *d < 0 }) || !(s.Utilization >= 0 && s.Utilization < math.MaxFloat32) {
			return fmt.Errorf("sample %d (0 is the run): a time or the utilization is negative or too large", i)
		}
	}
	for i, g := range p.Pauses {
		if g.Length < 0 {
			return fmt.Errorf("gc_pause %d: length_ns is negative", i+1)
		}
	}
	var tasks, executions uint64
	for i := range p.Classes {
		c := &p.Classes[i]
		if err := cmp.Or(c.checkValid(), addTo(&tasks, c.Tasks), addTo(&executions, c.Tasks, c.Unmeasured, c.Nested, c.Aggregated)); err != nil {
			return fmt.Errorf("class %d (%.100q): %w", i+1, c.Name, err)
		}
	}
	return nil
}

func (c *Class) checkValid() error {
	switch {
	case c.Diagnosis != "" && c.DiagnosisOrUnknown() != c.Diagnosis:
		return fmt.Errorf("diagnosis is %.100q, which is none", c.Diagnosis)
	case !(c.ActiveShare >= 0 && c.ActiveShare <= 1):
		return fmt.Errorf("active_share is not between 0 and 1: %v", c.ActiveShare)
	case c.Workers < 0 || c.Estimated > c.Tasks || c.Skipped > c.Tasks:
		return errors.New("workers, estimated or skipped is out of range")
	}
	for i, b := range c.Series {
		if b.Busy < 0 || !(b.Active >= 0 && b.Active <= 1) || i > 0 && b.At < c.Series[i-1].At {
			return fmt.Errorf("bin %d of the series: busy_ns or active is out of range, or at_ns is before that of the bin before", i+1)
		}
	}
	var tasks uint64
	for i := range c.Sites {
		s := &c.Sites[i]
		if err := cmp.Or(addTo(&tasks, s.Tasks), checkCounts(s.Tasks, s.histograms())); err != nil {
			return fmt.Errorf("site %d: %w", i+1, err)
		}
	}
	return checkCounts(c.Tasks, c.histograms())
}

// checkCounts checks the histograms of a class or site against its number of tasks.
func checkCounts(tasks uint64, all []*Histogram) error {
	for _, h := range all {
		if h.count > tasks {
			return fmt.Errorf("a histogram counts %d values of %d tasks", h.count, tasks)
		}
	}
	return nil
}

// addTo adds to a sum and returns an error if it overflows, because such sums are computed in many
// places.
func addTo(sum *uint64, terms ...uint64) error {
	const most = 1 << 62
	for _, n := range terms {
		if n > most-*sum {
			return fmt.Errorf("%d tasks are more than can be added up", n)
		}
		*sum += n
	}
	return nil
}

// histogramJSON is the JSON form of a histogram: its quantiles, null if nothing was measured, and
// the buckets in use as pairs of their lowest value and their count.
type histogramJSON struct {
	P1      *float64    `json:"p1"`
	P25     *float64    `json:"p25"`
	P50     *float64    `json:"p50"`
	P75     *float64    `json:"p75"`
	P99     *float64    `json:"p99"`
	Mean    *float64    `json:"mean"`
	Sum     *uint64     `json:"sum"`
	Min     uint64      `json:"min,omitempty"`
	Max     uint64      `json:"max,omitempty"`
	Buckets [][2]uint64 `json:"buckets,omitempty"`
}

// MarshalJSON writes the histogram as a JSON object, with its quantiles.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if h.count == 0 {
		return json.Marshal(histogramJSON{})
	}
	at := func(p float64) *float64 { return new(h.Quantile(p)) }
	out := histogramJSON{P1: at(.01), P25: at(.25), P50: at(.5), P75: at(.75), P99: at(.99), Mean: new(h.Mean()), Sum: &h.sum, Min: h.min, Max: h.max}
	for b := range h.used {
		out.Buckets = append(out.Buckets, [2]uint64{b.lo, b.n})
	}
	return json.Marshal(out)
}

// UnmarshalJSON rebuilds a histogram written by [Histogram.MarshalJSON]. It returns an error if no
// set of values has that histogram.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var in histogramJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	return h.rebuild(&in)
}

// AppendBinary appends the histogram in a form for [Histogram.UnmarshalBinary].
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	if h.count == 0 {
		return b, nil
	}
	for _, n := range []uint64{h.sum, h.min, h.max} {
		b = binary.AppendUvarint(b, n)
	}
	last := uint64(0)
	for u := range h.used {
		b = binary.AppendUvarint(binary.AppendUvarint(b, u.lo-last), u.n)
		last = u.lo
	}
	return b, nil
}

// UnmarshalBinary rebuilds a histogram written by [Histogram.AppendBinary]. Its errors are those of
// [Histogram.UnmarshalJSON].
func (h *Histogram) UnmarshalBinary(data []byte) error {
	bad := false
	next := func() uint64 {
		n, size := binary.Uvarint(data)
		bad = bad || size <= 0
		data = data[max(size, 0):]
		return n
	}
	var in histogramJSON
	if len(data) > 0 {
		in.Sum, in.Min, in.Max = new(next()), next(), next()
	}
	for last := uint64(0); len(data) > 0 && !bad; {
		last += next()
		in.Buckets = append(in.Buckets, [2]uint64{last, next()})
	}
	if bad {
		return errors.New("a histogram is cut off")
	}
	return h.rebuild(&in)
}

// rebuild makes the histogram of its written form.
func (h *Histogram) rebuild(in *histogramJSON) error {
	*h = Histogram{}
	switch {
	case in.Sum == nil:
		return nil
	case len(in.Buckets) == 0:
		return errors.New("a histogram has no buckets: quantiles alone do not make a distribution")
	}
	var least, most float64 // bounds of the sum
	for i, b := range in.Buckets {
		lo, n := b[0], b[1]
		pageNo, slot := bucket(lo)
		first, last := bounds(pageNo, slot)
		switch {
		case lo != first:
			return fmt.Errorf("no bucket begins at %d", lo)
		case i > 0 && lo <= in.Buckets[i-1][0]:
			return fmt.Errorf("bucket %d is not above the one before", lo)
		case n == 0:
			return fmt.Errorf("bucket %d is empty", lo)
		case h.count+n < n:
			return errors.New("a histogram counts more than 2^64 values")
		case i == 0 && (in.Min < first || in.Min > last):
			return fmt.Errorf("min, %d, is not in the first bucket", in.Min)
		case i == len(in.Buckets)-1 && (in.Max < first || in.Max > last || in.Max < in.Min):
			return fmt.Errorf("max, %d, is not in the last bucket", in.Max)
		}
		least += float64(max(first, in.Min)) * float64(n)
		most += float64(min(last, in.Max)) * float64(n)
		h.count += n
		h.page(pageNo)[slot] = n
	}
	const rounding = 1e-9
	if sum := float64(*in.Sum); sum < least*(1-rounding) || sum > most*(1+rounding) {
		return fmt.Errorf("sum, %d, does not follow from the buckets", *in.Sum)
	}
	h.min, h.max, h.sum = in.Min, in.Max, *in.Sum
	return nil
}
