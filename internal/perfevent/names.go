package perfevent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Events of the kernel's ABI by the names that perf(1) gives them.
var named = map[string]Spec{
	"cycles":                  {Type: typeHardware, Config: 0},
	"instructions":            {Type: typeHardware, Config: 1},
	"cache-references":        {Type: typeHardware, Config: 2},
	"cache-misses":            {Type: typeHardware, Config: 3},
	"branches":                {Type: typeHardware, Config: 4},
	"branch-misses":           {Type: typeHardware, Config: 5},
	"bus-cycles":              {Type: typeHardware, Config: 6},
	"stalled-cycles-frontend": {Type: typeHardware, Config: 7},
	"stalled-cycles-backend":  {Type: typeHardware, Config: 8},
	"ref-cycles":              {Type: typeHardware, Config: 9},

	"task-clock":       {Type: typeSoftware, Config: softwareTaskClock},
	"page-faults":      {Type: typeSoftware, Config: 2},
	"context-switches": {Type: typeSoftware, Config: 3},
	"migrations":       {Type: typeSoftware, Config: 4},
	"minor-faults":     {Type: typeSoftware, Config: 5},
	"major-faults":     {Type: typeSoftware, Config: 6},
	"alignment-faults": {Type: typeSoftware, Config: 7},
	"emulation-faults": {Type: typeSoftware, Config: 8},

	// PERF_TYPE_HW_CACHE: the cache, the operation << 8 (0 read, 1 write), the result << 16 (0
	// access, 1 miss).
	"L1-dcache-loads":       {Type: typeCache, Config: 0},
	"L1-dcache-load-misses": {Type: typeCache, Config: 0x10000},
	"L1-icache-load-misses": {Type: typeCache, Config: 0x10001},
	"LLC-loads":             {Type: typeCache, Config: 2},
	"LLC-load-misses":       {Type: typeCache, Config: 0x10002},
	"dTLB-loads":            {Type: typeCache, Config: 3},
	"dTLB-load-misses":      {Type: typeCache, Config: 0x10003},
	"iTLB-load-misses":      {Type: typeCache, Config: 0x10004},
	"node-load-misses":      {Type: typeCache, Config: 0x10006},
}

const (
	typeCache = 3
	typeRaw   = 4
)

// Names returns the names that [Named] knows without asking the system, sorted.
func Names() []string {
	names := make([]string, 0, len(named))
	for n := range named {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Named finds an event by its name: one of [Names], rNNN for a raw hardware event in hexadecimal,
// or device/event for one that the system lists, such as msr/tsc.
func Named(name string) (Spec, error) {
	if s, ok := named[name]; ok {
		s.Name = name
		return s, nil
	}
	if hex, ok := strings.CutPrefix(name, "r"); ok && hex != "" {
		if c, err := strconv.ParseUint(hex, 16, 64); err == nil {
			return Spec{Name: name, Type: typeRaw, Config: c}, nil
		}
	}
	if device, event, ok := strings.Cut(strings.Trim(name, "/"), "/"); ok && local(device) && local(event) {
		return Lookup(device, event)
	}
	return Spec{}, fmt.Errorf("perfevent: there is no event %q", name)
}

// local reports whether a name stays in its directory.
func local(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\")
}

// Hits reports whether occurrences of the event are rare enough, and cheap enough, to be recorded
// one by one.
func (s Spec) Hits() bool {
	return s.Type == typeSoftware && (s.Config == 2 || s.Config >= 5 && s.Config <= 8)
}

// Hardware reports whether the event needs a performance monitoring unit.
func (s Spec) Hardware() bool {
	return s.Type == typeHardware || s.Type == typeCache || s.Type == typeRaw
}
