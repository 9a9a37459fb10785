// Package perfevent is a thin layer over Linux's perf_event_open. It opens one counting event for
// one thread and reads it with read(2) or, where the kernel permits it, with RDPMC in user mode. It
// also finds the dynamic event sources that the kernel lists in sysfs (such as msr/tsc).
//
// An [Event] only counts. A [Sampler] records events of all threads of a process, including threads
// created later: when they get and lose a processor, each occurrence of rare events such as page
// faults, and readings of groups of counters.
//
// Counts are not scaled: see [Count]. An event that opens does not necessarily count, because virtual
// machines accept events that stay at zero. Callers must probe by counting.
//
// A Sampler takes 1.2 µs per thread switch plus 0.4 µs per event of its Hits (BenchmarkSwitch), a
// Read 0.34 µs. On systems other than Linux, everything fails with [errors.ErrUnsupported].
package perfevent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Spec identifies one event: a source of the kernel and what it counts.
type Spec struct {
	// Name is the name of the event in messages, such as "ref-cycles" or "msr/tsc".
	Name string
	// Type and Config are the perf_event_attr fields of the same names.
	Type   uint32
	Config uint64
	// ExcludeKernel excludes the thread's time in the kernel. Unprivileged users need it for
	// hardware events if kernel.perf_event_paranoid is 2.
	ExcludeKernel bool
}

// The generic hardware events that this module counts with.
var (
	// RefCycles counts at the nominal frequency while the thread executes.
	RefCycles = Spec{Name: "ref-cycles", Type: typeHardware, Config: hardwareRefCycles}
	// TaskClock is a software event: nanoseconds for which the thread was on a processor.
	TaskClock = Spec{Name: "task-clock", Type: typeSoftware, Config: softwareTaskClock}
)

// The kernel's ABI, see perf_event_open(2).
const (
	typeHardware      = 0
	typeSoftware      = 1
	hardwareRefCycles = 9
	softwareTaskClock = 1
)

// sysfs is where the kernel lists its event sources; tests replace it.
var sysfs = "/sys/bus/event_source/devices"

// Lookup finds an event that a dynamic source lists in sysfs, such as Lookup("msr", "tsc"). It
// fails if the source or the event is not listed, or if the event needs fields other than "event="
// and "config=".
func Lookup(device, event string) (Spec, error) {
	name := device + "/" + event
	typ, err := os.ReadFile(filepath.Join(sysfs, device, "type"))
	if err != nil {
		return Spec{}, fmt.Errorf("perfevent: type of %s: %w", name, err)
	}
	t, err := strconv.ParseUint(strings.TrimSpace(string(typ)), 10, 32)
	if err != nil {
		return Spec{}, fmt.Errorf("perfevent: type of %s: %w", name, err)
	}
	desc, err := os.ReadFile(filepath.Join(sysfs, device, "events", event))
	if err != nil {
		return Spec{}, fmt.Errorf("perfevent: config of %s: %w", name, err)
	}
	config, err := parseConfig(strings.TrimSpace(string(desc)))
	if err != nil {
		return Spec{}, fmt.Errorf("perfevent: config of %s: %w", name, err)
	}
	return Spec{Name: name, Type: uint32(t), Config: config}, nil
}

// parseConfig parses a description such as "event=0x00". Sources that spread their fields over
// other bits describe that in a format directory; those used here do not.
func parseConfig(desc string) (uint64, error) {
	key, value, ok := strings.Cut(desc, "=")
	if !ok || key != "event" && key != "config" || strings.Contains(value, ",") {
		return 0, fmt.Errorf("description %q is not of the form event=NUMBER", desc)
	}
	return strconv.ParseUint(value, 0, 64)
}

// Count is one reading of an event.
type Count struct {
	// Value is the count since the event was opened, in the event's own unit.
	Value uint64
	// Enabled and Running are in nanoseconds: the time for which the event was enabled while
	// its thread was on a processor, and the time for which it counted. Running < Enabled means
	// that it shared its counter and Value is too low.
	Enabled, Running uint64
}

// named maps the names used by perf(1) to events of the kernel's ABI.
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

// Names returns the names that [Named] accepts without consulting the system, sorted.
func Names() []string { return slices.Sorted(maps.Keys(named)) }

// Named finds an event by name: one of [Names], rNNN for a raw hardware event in hexadecimal, or
// device/event for one listed by the system, such as msr/tsc.
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

// local reports whether a name stays within its directory.
func local(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\")
}

// Hits reports whether occurrences of the event are rare and cheap enough to be recorded
// individually.
func (s Spec) Hits() bool {
	return s.Type == typeSoftware && (s.Config == 2 || s.Config >= 5 && s.Config <= 8)
}

// Hardware reports whether the event needs a performance monitoring unit.
func (s Spec) Hardware() bool {
	return s.Type == typeHardware || s.Type == typeCache || s.Type == typeRaw
}

// cpuList is where the kernel lists the online processors; tests replace it.
var cpuList = "/sys/devices/system/cpu/online"

func onlineList() ([]int, error) {
	b, err := os.ReadFile(cpuList)
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(b)))
}

// parseCPUs reads a list such as "0-3,8".
func parseCPUs(list string) (cpus []int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("perfevent: list of processors %q", list)
		}
		for ; a <= b; a++ {
			cpus = append(cpus, int(a))
		}
	}
	return cpus, nil
}
