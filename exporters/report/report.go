package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Data is the content of a page. Any part may be missing; the page then shows the reason from
// Missing, or a default one.
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
	// ContentionWindows is Contention for each interval, in order; they sum to Contention. With
	// them, a time selection filters contention, too. See [tracewaits.Observer.Windows].
	ContentionWindows []Window[*contention.Profile]
	// Tasks holds the sizes of the tasks.
	Tasks *granularity.Profile
	// TaskWindows is Tasks for the tasks that ended in each interval, in order. See
	// [tracetasks.Observer.Cut].
	TaskWindows []Window[*granularity.Profile]
	// Speedup holds stacks, shown side by side. If an account has Windows, a time selection filters
	// it, too.
	Speedup []*speedup.Stack
	// Counters is the table of scheduling quanta.
	Counters *quanta.Recording
	// Missing holds, as a sentence, the reason why a part is missing.
	Missing map[Section]string
	// Warnings are sentences about the reliability of the whole recording.
	Warnings []string
}

// Section is a part of the page.
type Section string

// The sections of the page, in order.
const (
	BottleSection     Section = "bottle"
	ContentionSection Section = "contention"
	TasksSection      Section = "tasks"
	SpeedupSection    Section = "speedup"
	CountersSection   Section = "counters"
)

// Sections lists all sections, in order.
var Sections = []Section{BottleSection, ContentionSection, TasksSection, SpeedupSection, CountersSection}

// The default limits of a page that includes its data.
const (
	DefaultMaxRows  = 1_000_000 // quanta
	DefaultMaxBytes = 64 << 20  // size of the file
)

// Options configures [Write]. The zero value is ready to use.
type Options struct {
	// MaxRows and MaxBytes bound the file. Larger data is an error, because a browser would take too
	// long to load it. 0 means DefaultMaxRows and DefaultMaxBytes; a negative value means no limit.
	MaxRows  int
	MaxBytes int64
}

// tooLarge is the advice if data does not fit into a page.
const tooLarge = "serve the page (-http), or record less"

var errNoData = errors.New("report: no data")

// Write writes a page that includes all of its data: one HTML file that needs no network. It never
// drops data: it returns an error if the data is too large. Other errors are those of w.
//
// It takes about 0.3 µs per quantum and column of counters.
func Write(w io.Writer, d *Data, opt Options) error {
	if d == nil {
		return errNoData
	}
	maxRows, maxBytes := opt.MaxRows, opt.MaxBytes
	if maxRows == 0 {
		maxRows = DefaultMaxRows
	}
	if maxBytes == 0 {
		maxBytes = DefaultMaxBytes
	}
	if d.Counters != nil && maxRows > 0 && d.Counters.Len() > maxRows {
		return fmt.Errorf("report: %d scheduling quanta are more than the %d that one page can hold: %s", d.Counters.Len(), maxRows, tooLarge)
	}
	form, err := newPageData(d, false)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := writePage(&buf, d, form, false); err != nil {
		return err
	}
	if maxBytes > 0 && int64(buf.Len()) > maxBytes {
		return fmt.Errorf("report: the page would have %.6g MiB, more than the %.6g MiB that a browser opens well: %s", math.Ceil(float64(buf.Len())/(1<<20)*100)/100, float64(maxBytes)/(1<<20), tooLarge)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("report: writing the page: %w", err)
	}
	return nil
}
