// Package report writes a page for exploring a whole recording: the bottle graph with a slider over
// time, contention, tasks, speedup stacks, and the counters of every scheduling quantum. A
// selection in one of them filters all others.
//
// [Write] writes one HTML file that contains all data, loads nothing, and runs only its own script,
// whose hash is in its content security policy. [NewHandler] serves the same page and answers its
// queries about quanta with package internal/query. A saved page supports filtering by selection;
// conditions and arithmetic need the served page. The page's address contains the selection.
//
// The page computes with the definitions of the Go packages, and tests compare the two in a browser
// (internal/browsertest). No data is dropped: more than 50,000 points are shown as density, with a
// note. A time selection is widened to windows, with a note. Names may be hostile: they become text
// nodes, and characters that control, reorder or hide text are shown as U+FFFD.
//
// The page needs a browser of 2023 or later, for DecompressionStream. Scripts and styles take 260
// kB, of which uPlot (MIT license) takes 50. 20,000 quanta of four counters make a page of 0.9 MB
// in 90 ms (BenchmarkWrite of internal/browsertest).
package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Data is the content of a page. The page shows why a part is missing: see Missing.
type Data struct {
	// Title names the recording; Source is its origin, such as the name of a file.
	Title, Source string
	// Bottle is the bottle graph. If it has Windows, the page has a slider over them.
	Bottle *bottle.Graph
	// Goroutines is a graph of the same run with a box for each goroutine ([bottle.ByGoroutine]).
	// It shows the goroutines of a box of Bottle.
	Goroutines *bottle.Graph
	// Contention holds the waits and their owners.
	Contention *contention.Profile
	// ContentionWindows is Contention for each interval of the length ContentionWindow, in order;
	// they sum to Contention. With them, a time selection filters contention, too.
	ContentionWindows []*contention.Profile
	ContentionWindow  time.Duration
	// Tasks holds the sizes of the tasks.
	Tasks *granularity.Profile
	// TaskWindows is Tasks for those that ended in each interval of the length TaskWindow.
	TaskWindows []*granularity.Profile
	TaskWindow  time.Duration
	// Speedup holds stacks, shown side by side. A time selection filters those with Windows.
	Speedup []*speedup.Stack
	// Counters is the table of scheduling quanta.
	Counters *quanta.Recording
	// Missing holds, by section, a sentence with the reason why it is missing.
	Missing map[string]string
	// Warnings are sentences about the reliability of the whole recording.
	Warnings []string
}

// The sections of the page, in order.
const (
	BottleSection     = "bottle"
	ContentionSection = "contention"
	TasksSection      = "tasks"
	SpeedupSection    = "speedup"
	CountersSection   = "counters"
)

// The limits of a page that includes its data: a browser would take too long to load a larger one.
var (
	maxRows  = 1_000_000 // quanta
	maxBytes = 64 << 20  // size of the file
)

// tooLarge is the advice if data does not fit into a page.
const tooLarge = "serve the page (-http), or record less"

var errNoData = errors.New("report: no data")

// Write writes a page that includes all of its data: one HTML file that needs no network. It never
// drops data: it returns an error if the data is too large. Other errors are those of w.
//
// It takes about 0.3 µs per quantum and column of counters.
func Write(w io.Writer, d *Data) error {
	if d == nil {
		return errNoData
	}
	if d.Counters != nil && d.Counters.Len() > maxRows {
		return fmt.Errorf("report: %d scheduling quanta are more than the %d that one page can hold: %s", d.Counters.Len(), maxRows, tooLarge)
	}
	form, err := newPageData(d, false)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if _, err := writePage(&buf, d, form, false); err != nil {
		return err
	}
	if buf.Len() > maxBytes {
		return fmt.Errorf("report: the page would have %.6g MiB, more than the %.6g MiB that a browser opens well: %s", math.Ceil(float64(buf.Len())/(1<<20)*100)/100, float64(maxBytes)/(1<<20), tooLarge)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("report: writing the page: %w", err)
	}
	return nil
}
