package perfevent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Spec names one event: which of the kernel's sources counts what.
type Spec struct {
	// Name is what messages call the event, such as "ref-cycles" or "msr/tsc".
	Name string
	// Type and Config are perf_event_attr's fields of the same names.
	Type   uint32
	Config uint64
	// ExcludeKernel leaves out what the thread does in the kernel. Unprivileged
	// users need it for hardware events where kernel.perf_event_paranoid is 2.
	ExcludeKernel bool
}

// The generic hardware events that this module counts with.
var (
	// RefCycles counts at the nominal frequency while the thread executes.
	RefCycles = Spec{Name: "ref-cycles", Type: typeHardware, Config: hardwareRefCycles}
	// CPUCycles counts at the frequency that the core happens to run at.
	CPUCycles = Spec{Name: "cpu-cycles", Type: typeHardware, Config: hardwareCPUCycles}
	// TaskClock is a software event: nanoseconds that the thread was on a processor.
	TaskClock = Spec{Name: "task-clock", Type: typeSoftware, Config: softwareTaskClock}
)

// The kernel's ABI, see perf_event_open(2).
const (
	typeHardware      = 0
	typeSoftware      = 1
	hardwareCPUCycles = 0
	hardwareRefCycles = 9
	softwareTaskClock = 1
)

// sysfs is where the kernel lists its event sources; tests point it elsewhere.
var sysfs = "/sys/bus/event_source/devices"

// Lookup finds an event that a dynamic source lists in sysfs, such as
// Lookup("msr", "tsc"). It fails where the source or the event is not listed,
// or where the event needs fields other than "event=" and "config=".
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

// parseConfig reads a description such as "event=0x00". Sources that spread
// their fields over other bits say so in a format directory; the ones we use do not.
func parseConfig(desc string) (uint64, error) {
	key, value, ok := strings.Cut(desc, "=")
	if !ok || key != "event" && key != "config" || strings.Contains(value, ",") {
		return 0, fmt.Errorf("description %q is not of the form event=NUMBER", desc)
	}
	return strconv.ParseUint(value, 0, 64)
}

// Count is what one reading of an event says.
type Count struct {
	// Value is the count since the event was opened, in the event's own unit.
	Value uint64
	// Enabled and Running are nanoseconds: for how long the event was wanted
	// while its thread was on a processor, and for how long it really counted.
	// Running < Enabled means that it shared its counter and Value is too low.
	Enabled, Running uint64
}
