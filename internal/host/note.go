package host

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
	"time"
)

// An execution trace has GOMAXPROCS, but neither the number of processors that the process could
// use nor the throttling of its control group. Recordings by this module note both for readers on
// other machines, at their beginning and end, in messages of runtime/trace.Log, which every trace
// may contain.

// category is the category of the messages.
const category = "bottleneck.machine"

// Machine is the content of a note.
type Machine struct {
	Processors float64 // of the process: see [Processors]
	All        int     // processors of the machine
	Throttling         // until the note: see [Throttled]; zero without a quota
}

// String returns the message of a note.
func (m Machine) String() string {
	text := fmt.Sprintf("%v of %d processors", m.Processors, m.All)
	if m.Periods > 0 {
		text += fmt.Sprintf(", throttled in %d of %d periods for %d ns", m.Throttled, m.Periods, int64(m.For))
	}
	return text
}

// Note writes a note into the current execution trace, if there is one. It takes a microsecond, and
// a few more to read the throttling if there is a quota.
func Note() {
	if trace.IsEnabled() {
		trace.Log(context.Background(), category, Machine{Processors(), runtime.NumCPU(), Throttled()}.String())
	}
}

// ReadNote returns the content of a note from a message of runtime/trace.Log, or false if the
// message is not a note.
func ReadNote(of, message string) (m Machine, ok bool) {
	text, throttling, _ := strings.Cut(message, ", throttled in ")
	processors, rest, _ := strings.Cut(text, " of ")
	all, _, _ := strings.Cut(rest, " ")
	m.Processors, _ = strconv.ParseFloat(processors, 64)
	m.All, _ = strconv.Atoi(all)
	throttled, rest, _ := strings.Cut(throttling, " of ")
	periods, length, _ := strings.Cut(rest, " periods for ")
	m.Throttled, _ = strconv.ParseInt(throttled, 10, 64)
	m.Periods, _ = strconv.ParseInt(periods, 10, 64)
	nanoseconds, _ := strconv.ParseInt(strings.TrimSuffix(length, " ns"), 10, 64) // time.ParseDuration takes 3 kB
	m.For = time.Duration(nanoseconds)
	if of != category || m.String() != message || !(m.Processors > 0) || m.Processors > float64(m.All) || m.All > math.MaxInt32 || min(m.Throttled, m.Periods, int64(m.For)) < 0 {
		return Machine{}, false
	}
	return m, true
}

// Oversubscribed warns that GOMAXPROCS exceeds the number of processors of the process. It returns
// "" if that is not so, or if either is unknown (0).
func Oversubscribed(procs int, processors float64) string {
	if processors <= 0 || float64(procs) <= processors {
		return ""
	}
	return fmt.Sprintf("GOMAXPROCS is %d, but the machine or its control group gives the process %s: goroutines that count as running may have waited for one.",
		procs, Count(processors))
}

// Count formats a number of processors, such as "1.5 processors".
func Count(n float64) string {
	if n == 1 {
		return "1 processor"
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " processors"
}
