package counters

import (
	"strconv"
	"strings"
)

// unit is a product of powers of nanoseconds and bytes. A plain count has neither, and a number
// written in a metric is free: it goes with everything.
type unit struct {
	ns, bytes int
	free      bool
}

var (
	plainCount  = unit{}
	nanoseconds = unit{ns: 1}
	inBytes     = unit{bytes: 1}
)

func parseUnit(s string) unit {
	switch s {
	case "ns":
		return nanoseconds
	case "bytes":
		return inBytes
	}
	return plainCount
}

// String writes "ns", "bytes/ns", "1/ns", "ns^2"; "" for a plain count.
func (u unit) String() string {
	var over, under []string
	for _, p := range []struct {
		name  string
		power int
	}{{"ns", u.ns}, {"bytes", u.bytes}} {
		name := p.name
		if p.power > 1 || p.power < -1 {
			name += "^" + strconv.Itoa(max(p.power, -p.power))
		}
		switch {
		case p.power > 0:
			over = append(over, name)
		case p.power < 0:
			under = append(under, name)
		}
	}
	if len(over)+len(under) == 0 {
		return ""
	}
	s := strings.Join(over, "*")
	if s == "" {
		s = "1"
	}
	if len(under) > 0 {
		s += "/" + strings.Join(under, "/")
	}
	return s
}

// times and over multiply and divide; a free number changes nothing.
func (u unit) times(v unit) unit {
	return unit{u.ns + v.ns, u.bytes + v.bytes, u.free && v.free}
}

func (u unit) over(v unit) unit {
	return unit{u.ns - v.ns, u.bytes - v.bytes, u.free && v.free}
}

// with is the unit of a sum, if the two can be added and compared.
func (u unit) with(v unit) (unit, bool) {
	switch {
	case u.free:
		return v, true
	case v.free:
		return u, true
	}
	return u, u == v
}
