package host

import (
	"context"
	"fmt"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
)

// An execution trace has GOMAXPROCS, but not the number of processors that the process could use.
// Recordings by this module note it for readers on other machines, in a message of
// runtime/trace.Log, which every trace may contain.

// category is the category of the messages.
const category = "bottleneck.machine"

const noteFormat = "%v of %d processors"

// Note writes [Processors] and the number of the machine's processors into the current execution
// trace, if there is one. It takes a microsecond.
func Note() {
	if trace.IsEnabled() {
		trace.Log(context.Background(), category, fmt.Sprintf(noteFormat, Processors(), runtime.NumCPU()))
	}
}

// ReadNote returns the number of processors of the recording process from a message of
// runtime/trace.Log, or false if the message is not a note.
func ReadNote(of, message string) (processors float64, ok bool) {
	if of != category {
		return 0, false
	}
	first, rest, _ := strings.Cut(message, " of ")
	second, unit, _ := strings.Cut(rest, " ")
	processors, err := strconv.ParseFloat(first, 64)
	all, wrong := strconv.ParseInt(second, 10, 32)
	if err != nil || wrong != nil || unit != "processors" || !(processors > 0) || processors > float64(all) {
		return 0, false
	}
	return processors, true
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
