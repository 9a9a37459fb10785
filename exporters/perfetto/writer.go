// Package perfetto converts an execution trace of a Go program to a trace for Perfetto
// (https://ui.perfetto.dev), the viewer and query engine for timelines. It shows what each
// goroutine did and when, what it was blocked on, and which goroutine woke it.
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/exporters/perfetto"
//		"github.com/bottleneck-go/bottleneck/timeline"
//	)
//
//	func main() {
//		o, finish := perfetto.New(os.Stdout, "")
//		_, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, o)
//		if err != nil {
//			log.Print(err) // what was read before is still written
//		}
//		if err := finish(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The program has tracks for counters, phases of the garbage collector and user tasks. Each
// processor shows the goroutines that it ran. Each group of goroutines is a process with its
// goroutines as threads, whose slices are their states. Arrows lead from a goroutine to the one
// that it wakes. The slices of running goroutines and of each kind of waiting sum to the times of a
// bottle graph, to the nanosecond.
//
// Up to 5000 goroutines have their own tracks; later ones share tracks of their group. Names are
// truncated to 300 characters, call stacks to 16 frames. Samples of the CPU profiler and arrows from
// a go statement to its goroutine are not written.
//
// The file is written in one pass: about 130 bytes and half a microsecond per event of the trace
// (BenchmarkWrite). Memory use depends on the number of live goroutines and distinct names, not on
// the length of the trace. The output is deterministic.
package perfetto

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Bounds of a trace, because neither people nor programs can handle more.
const (
	// maxTracks is the number of goroutines with their own tracks. Later ones share tracks, one
	// goroutine at a time.
	maxTracks = 5000
	// maxGroups is the number of groups. Goroutines of later groups are in a common group.
	maxGroups = 1000
)

// writer writes the packets of a trace.
type writer struct {
	out    *bufio.Writer
	title  string // of the program
	err    error
	closed bool

	maxTracks, maxGroups int

	packet message // buffers
	event  message
	sub    message
	note   message

	started  bool
	nextUUID uint64
	interned map[int]map[string]uint64 // by field of InternedData
	news     message                   // names that the next packet defines
	chains   map[*timeline.Stack]string

	observer observer
}

// New returns an observer that writes a trace in Perfetto's format to w; see the package comment.
// name is the name of the tracks of the whole program; "" means "program".
//
// finish writes the remaining data after the pass. It returns the first error of w, including errors
// of earlier writes. A truncated trace is still valid: call finish even if the pass failed.
func New(w io.Writer, name string) (o timeline.Observer, finish func() error) {
	out := newWriter(w, name)
	return &out.observer, out.close
}

func newWriter(w io.Writer, name string) *writer {
	out := &writer{
		out: bufio.NewWriterSize(w, 1<<16), title: cmp.Or(name, "program"), maxTracks: maxTracks, maxGroups: maxGroups,
		interned: map[int]map[string]uint64{
			internedEventCategories: {}, internedEventNames: {}, internedDebugAnnotationNames: {}, internedDebugAnnotationStringValues: {},
		},
		chains: map[*timeline.Stack]string{},
	}
	out.observer = observer{
		w: out, groups: map[string]*group{}, threads: map[int64]bool{}, procs: map[int32]*processor{},
		gauges: map[string]uint64{}, spans: map[string]*stack{}, tasks: taskLanes{open: map[uint64]int{}},
	}
	return out
}

func (w *writer) close() error {
	if !w.closed {
		w.closed = true
		w.observer.finish()
		if err := w.out.Flush(); err != nil {
			w.err = err
		}
	}
	if w.err != nil {
		return fmt.Errorf("perfetto: %w", w.err)
	}
	return nil
}

// put writes a packet with one field of the given number.
func (w *writer) put(t timeline.Time, field int, content message) {
	if w.err != nil {
		return
	}
	w.packet = w.packet[:0]
	if field == packetTrackEvent {
		w.packet.integer(packetTimestamp, uint64(t))
	}
	w.packet.integer(packetTrustedPacketSequenceID, 1)
	flags := uint64(flagNeedsState)
	if !w.started {
		w.started = true
		flags = flagStateCleared
	}
	w.packet.integer(packetSequenceFlags, flags)
	if len(w.news) > 0 {
		w.packet.embed(packetInternedData, w.news)
		w.news = w.news[:0]
	}
	w.packet.embed(field, content)
	w.sub = w.sub[:0]
	w.sub.embed(traceFieldPacket, w.packet) // a Trace message consists only of packets
	if _, err := w.out.Write(w.sub); err != nil {
		w.err = err
	}
}

// maxInterned bounds the size of each table of names.
const maxInterned = 4096

// intern returns the number of an interned name, or 0 if there are too many.
func (w *writer) intern(field int, name string) uint64 {
	table := w.interned[field]
	if iid, ok := table[name]; ok {
		return iid
	}
	if len(table) >= maxInterned {
		return 0
	}
	iid := uint64(len(table) + 1)
	table[name] = iid
	var def message
	def.integer(internedNameIid, iid)
	def.text(internedNameName, name)
	w.news.embed(field, def)
	return iid
}

// maxName is the maximum number of runes of a name.
const maxName = 300

// clean makes a name of the program safe to show: valid UTF-8 of limited length without control
// characters.
func clean(name string) string { return format.CleanTo(name, maxName) }

// maxFrames is the maximum number of frames of a call stack in an annotation.
const maxFrames = 16

// chain formats a call stack, leaf first.
func (w *writer) chain(s *timeline.Stack) string {
	if out, ok := w.chains[s]; ok {
		return out
	}
	var names []string
	for i, f := range s.Frames {
		if i == maxFrames {
			names = append(names, "…")
			break
		}
		names = append(names, clean(f.Func))
	}
	out := strings.Join(names, " < ")
	if len(w.chains) < maxInterned {
		w.chains[s] = out
	}
	return out
}

// note is an annotation of an event: a number or a text. Recurring texts are written once.
type note struct {
	name   string
	text   string
	number int64
	isText bool
}

func number(name string, v int64) note { return note{name: name, number: v} }
func text(name, s string) note         { return note{name: name, text: s, isText: true} }

// slice begins a slice on a track, or writes an instant. Names must be clean.
func (w *writer) slice(kind uint64, t timeline.Time, track uint64, category, name string, notes ...note) {
	w.begin(kind, track, category, name)
	w.annotate(notes)
	w.put(t, packetTrackEvent, w.event)
}

// start starts an event of a track in w.event.
func (w *writer) start(kind, track uint64) {
	w.event = w.event[:0]
	w.event.integer(eventType, kind)
	w.event.integer(eventTrackUUID, track)
}

// begin starts an event with a name in w.event.
func (w *writer) begin(kind, track uint64, category, name string) {
	name = cmp.Or(name, "(no name)")
	w.start(kind, track)
	w.named(&w.event, internedEventCategories, eventCategoryIIDs, eventCategories, category)
	w.named(&w.event, internedEventNames, eventNameIID, eventName, name)
}

// named appends an interned name, or the name itself if there are too many.
func (w *writer) named(m *message, table, iidField, textField int, name string) {
	if iid := w.intern(table, name); iid > 0 {
		m.integer(iidField, iid)
	} else {
		m.text(textField, name)
	}
}

// end ends the innermost slice of a track.
func (w *writer) end(t timeline.Time, track uint64, notes ...note) {
	w.start(typeSliceEnd, track)
	w.annotate(notes)
	w.put(t, packetTrackEvent, w.event)
}

func (w *writer) annotate(notes []note) {
	for i := range notes {
		n := &notes[i]
		w.note = w.note[:0]
		// There are few names.
		w.note.integer(annotationNameIID, w.intern(internedDebugAnnotationNames, n.name))
		if n.isText {
			w.named(&w.note, internedDebugAnnotationStringValues, annotationStringIID, annotationString, n.text)
		} else {
			w.note.integer(annotationInt, uint64(n.number))
		}
		w.event.embed(eventDebugAnnotations, w.note)
	}
}

// counter writes a value of a counter track.
func (w *writer) counter(t timeline.Time, track uint64, v int64) {
	w.start(typeCounter, track)
	w.event.integer(eventCounterValue, uint64(v))
	w.put(t, packetTrackEvent, w.event)
}

// Perfetto has processes with threads. Here, the whole program, its processors, and each group of
// goroutines are processes; processors and goroutines are threads. Process numbers are above thread
// numbers, because the first thread of a process has the number of the process.
const (
	programPID    = 2_000_000_000
	processorsPID = programPID + 1
	groupsPID     = programPID + 2
	// Goroutines with numbers from here on, and threads without a goroutine, get new numbers.
	otherTIDs = 1_000_000_000
)

// describe writes a new track with the fields of d, and returns it.
func (w *writer) describe(d message) uint64 {
	w.nextUUID++
	var all message
	all.integer(descriptorUuid, w.nextUUID)
	w.put(0, packetTrackDescriptor, append(all, d...))
	return w.nextUUID
}

// process describes a process and returns its track.
func (w *writer) process(pid int64, name string) uint64 {
	var d, p message
	p.integer(processPid, uint64(pid))
	p.text(processName, name)
	d.embed(descriptorProcess, p)
	return w.describe(d)
}

// thread describes a thread of a process and returns its track.
func (w *writer) thread(pid, tid int64, name string) uint64 {
	var d, t message
	t.integer(threadPid, uint64(pid))
	t.integer(threadTid, uint64(tid))
	t.text(threadName, name)
	d.embed(descriptorThread, t)
	return w.describe(d)
}

// track describes a track below another one, of a counter if it has a unit, and returns it.
func (w *writer) track(parent uint64, name string, unit uint64) uint64 {
	var d, c message
	d.integer(descriptorParentUUID, parent)
	d.text(descriptorName, name)
	if unit > 0 {
		c.integer(counterUnit, unit)
		d.embed(descriptorCounter, c)
	}
	return w.describe(d)
}

// group is a process for goroutines that belong together.
type group struct {
	name  string
	pid   int64
	free  []uint64 // shared tracks that are not in use
	lanes int      // number of shared tracks
}

const othersGroup = "(other groups)"

// groupOf returns the group of a goroutine.
func (o *observer) groupOf(g *timeline.Goroutine) *group {
	name := g.Name()
	if g.Kind != timeline.Application {
		name = "[" + g.Kind.String() + "] " + name
	}
	name = clean(name)
	if found := o.groups[name]; found != nil {
		return found
	}
	if len(o.groups) >= o.w.maxGroups && name != othersGroup {
		if found := o.groups[othersGroup]; found != nil {
			return found
		}
		name = othersGroup
	}
	made := &group{name: name, pid: groupsPID + int64(len(o.groups))}
	o.groups[name] = made
	o.w.process(made.pid, name)
	return made
}

// appear creates the track of a goroutine.
func (o *observer) appear(g *timeline.Goroutine) *lane {
	l := &lane{id: g.ID, group: o.groupOf(g)}
	switch {
	case o.tracks < o.w.maxTracks:
		o.tracks++
		tid := g.ID
		// Changes its track, or is back after a gap or an exit (threads of C).
		if tid <= 0 || tid >= otherTIDs || o.threads[tid] {
			tid = o.newTID()
		}
		o.threads[tid] = true
		l.track = o.w.thread(l.group.pid, tid, "G"+strconv.FormatInt(g.ID, 10)+" "+clean(g.Name()))
		return l
	case len(l.group.free) > 0:
		last := len(l.group.free) - 1
		l.track = l.group.free[last]
		l.group.free = l.group.free[:last]
	default:
		l.group.lanes++
		l.track = o.w.thread(l.group.pid, o.newTID(), "more goroutines "+strconv.Itoa(l.group.lanes))
	}
	l.shared = true
	return l
}

func (o *observer) newTID() int64 {
	o.otherThreads++
	return otherTIDs + o.otherThreads
}

// message is a protobuf message under construction. A trace uses three wire types: variable-length
// integers (0), 8 bytes (1) and byte strings (2). A field is its number and wire type, followed by
// the value.
type message []byte

func (m *message) integer(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) fixed(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|1)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

func (m *message) text(field int, s string) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}

func (m *message) embed(field int, sub message) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(sub)))
	*m = append(*m, sub...)
}

// The fields in use, named as in Perfetto's trace_packet.proto, track_descriptor.proto,
// track_event.proto, interned_data.proto, debug_annotation.proto, process_descriptor.proto,
// thread_descriptor.proto and counter_descriptor.proto.
const (
	traceFieldPacket = 1

	packetTimestamp               = 8 // ns
	packetTrustedPacketSequenceID = 10
	packetTrackEvent              = 11
	packetInternedData            = 12
	packetSequenceFlags           = 13
	packetTrackDescriptor         = 60

	descriptorUuid       = 1
	descriptorName       = 2
	descriptorProcess    = 3
	descriptorThread     = 4
	descriptorParentUUID = 5
	descriptorCounter    = 8

	processPid  = 1
	processName = 6

	threadPid  = 1
	threadTid  = 2
	threadName = 5

	counterUnit = 3

	eventCategories         = 22
	eventCategoryIIDs       = 3
	eventDebugAnnotations   = 4
	eventType               = 9
	eventNameIID            = 10
	eventTrackUUID          = 11
	eventName               = 23
	eventCounterValue       = 30
	eventFlowIDs            = 47
	eventTerminatingFlowIDs = 48

	annotationNameIID   = 1
	annotationInt       = 4
	annotationString    = 6
	annotationStringIID = 17

	internedEventCategories             = 1
	internedEventNames                  = 2
	internedDebugAnnotationNames        = 3
	internedDebugAnnotationStringValues = 29

	internedNameIid  = 1 // of EventCategory, EventName, DebugAnnotationName and InternedString
	internedNameName = 2
)

// The values of TrackEvent.Type, of CounterDescriptor.Unit and of TracePacket.SequenceFlags.
const (
	typeSliceBegin = 1
	typeSliceEnd   = 2
	typeInstant    = 3
	typeCounter    = 4

	unitCount = 2
	unitBytes = 3

	flagStateCleared = 1
	flagNeedsState   = 2
)
