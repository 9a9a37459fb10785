package live

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
)

// query holds the parameters of a request.
type query struct {
	seconds time.Duration // 0 if absent
	debug   bool
	form    form   // "" if absent
	view    string // of a contention profile for pprof; "" if absent
	group   string // grouping of the bottle graph; "" if absent
}

// The bounds of ?seconds=. A shorter period shows nothing, and a longer one takes too long for a
// request.
const (
	shortestTime = time.Millisecond
	longestTime  = time.Hour
)

// parseQuery parses the parameters of a request. The error names the invalid parameter and the
// valid values. Unknown parameters are errors, because a misspelled one would otherwise answer a
// different question.
func parseQuery(raw string, known []string, forms []form) (query, error) {
	var q query
	if len(raw) > 1000 {
		return q, fmt.Errorf("the query has %d bytes: that is too long", len(raw))
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, fmt.Errorf("the query cannot be read: %v", err)
	}
	for name, v := range values {
		if !slices.Contains(known, name) {
			return q, fmt.Errorf("there is no parameter %q here: there are %s", name, cmp.Or(joined(known), "none"))
		}
		// Grafana Alloy sends duplicates if its configuration has params.
		if len(slices.Compact(v)) > 1 {
			return q, fmt.Errorf("the parameter %s is there %d times", name, len(v))
		}
	}
	if values.Has("seconds") {
		if q.seconds, err = parseSeconds(values.Get("seconds")); err != nil {
			return q, err
		}
	}
	if values.Has("debug") {
		level, err := strconv.ParseUint(values.Get("debug"), 10, 8)
		if err != nil {
			return q, fmt.Errorf("debug=%q: want 0 or 1", values.Get("debug"))
		}
		q.debug = level > 0
	}
	if values.Has("format") {
		q.form = form(values.Get("format"))
		if !slices.Contains(forms, q.form) {
			return q, fmt.Errorf("there is no format %q here: there are %s", string(q.form), joined(forms))
		}
	}
	if values.Has("view") {
		q.view = values.Get("view")
		if !slices.Contains(views, q.view) {
			return q, fmt.Errorf("there is no view %q: there are %s", q.view, joined(views))
		}
		if q.form != "" && q.form != formPprof || q.debug {
			return q, fmt.Errorf("view= is for format=pprof only")
		}
		q.form = formPprof
	}
	if values.Has("group") {
		group, err := bottle.ParseGrouping(values.Get("group"))
		if err != nil {
			return q, err
		}
		q.group = group.String()
	}
	switch {
	case q.debug && q.seconds != 0:
		return q, fmt.Errorf("seconds and debug do not go together: use seconds and format=text")
	case q.debug && q.form != "" && q.form != formText:
		return q, fmt.Errorf("debug=1 is text: it does not go together with format=%s", q.form)
	case q.debug && !slices.Contains(forms, formText):
		return q, fmt.Errorf("there is no text here for debug=1: there are %s", joined(forms))
	case q.debug:
		q.form = formText
	}
	return q, nil
}

// views lists the views of a contention profile.
var views = []string{contention.OwnerView, contention.WaiterView, contention.JoinedView}

// parseSeconds parses a number of seconds, with or without decimals.
func parseSeconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(v):
		return 0, fmt.Errorf("seconds=%q: want a number, such as 5 or 0.5", s)
	case v < shortestTime.Seconds():
		return 0, fmt.Errorf("seconds=%s: want at least %g", s, shortestTime.Seconds())
	case v > longestTime.Seconds():
		return 0, fmt.Errorf("seconds=%s: want at most %g", s, longestTime.Seconds())
	}
	return time.Duration(v * float64(time.Second)), nil
}

func joined[S ~string](names []S) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return strings.Join(out, ", ")
}
