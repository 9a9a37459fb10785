package perfetto

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a [Writer]. The zero value is ready to use.
type Options struct {
	// Name is the name of the tracks of the whole program; "" means "program".
	Name string
	// Group returns the name of a goroutine's group; nil means its start function.
	Group func(*timeline.Goroutine) string
	// MaxTracks is the maximum number of goroutines with their own tracks; 0 means 5000. Later ones
	// share tracks, one goroutine at a time, because neither people nor programs can handle more.
	MaxTracks int
	// MaxGroups bounds the number of groups; 0 means 1000. Goroutines of later groups are in a
	// common group.
	MaxGroups int
}

// Writer writes a trace in Perfetto's format; see the package comment.
type Writer struct {
	out    *bufio.Writer
	opt    Options
	err    error
	closed bool

	packet message // buffers
	event  message
	sub    message

	started  bool
	nextUUID uint64
	interned map[int]map[string]uint64 // by field of InternedData
	news     message                   // names that the next packet defines
	note     message                   // a buffer
	cleaned  map[string]string         // cleaned names, by original name
	chains   map[*timeline.Stack]string

	observer observer
}

// NewWriter returns a Writer that writes to w. Pass its Observer to a pass of package timeline, and
// call Close afterwards.
func NewWriter(w io.Writer, opt Options) *Writer {
	if opt.Name == "" {
		opt.Name = "program"
	}
	if opt.MaxTracks <= 0 {
		opt.MaxTracks = 5000
	}
	if opt.MaxGroups <= 0 {
		opt.MaxGroups = 1000
	}
	out := &Writer{
		out: bufio.NewWriterSize(w, 1<<16), opt: opt,
		interned: map[int]map[string]uint64{
			internedEventCategories: {}, internedEventNames: {}, internedDebugAnnotationNames: {}, internedDebugAnnotationStringValues: {},
		},
		cleaned: map[string]string{}, chains: map[*timeline.Stack]string{},
	}
	out.observer.init(out)
	return out
}

// Observer returns the observer that writes. It observes one trace.
func (w *Writer) Observer() timeline.Observer { return &w.observer }

// Close writes the remaining data. It returns the first error of the underlying writer, including
// errors of earlier writes. A truncated trace is still valid: call Close even if the pass failed.
func (w *Writer) Close() error {
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
func (w *Writer) put(t timeline.Time, field int, content message) {
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
func (w *Writer) intern(field int, name string) uint64 {
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
func clean(name string) string {
	name = format.Clean(name)
	if len(name) <= maxName {
		return name
	}
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName/2]) + "…" + string(r[len(r)-maxName/2+1:])
	}
	return name
}

// name cleans and caches a name that is likely to recur.
func (w *Writer) name(raw string) string {
	if name, ok := w.cleaned[raw]; ok {
		return name
	}
	name := clean(raw)
	if len(w.cleaned) < maxInterned {
		w.cleaned[raw] = name
	}
	return name
}

// maxFrames is the maximum number of frames of a call stack in an annotation.
const maxFrames = 16

// chain formats a call stack, leaf first.
func (w *Writer) chain(s *timeline.Stack) string {
	if out, ok := w.chains[s]; ok {
		return out
	}
	var names []string
	for i, f := range s.Frames {
		if i == maxFrames {
			names = append(names, "…")
			break
		}
		names = append(names, w.name(f.Func))
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
func (w *Writer) slice(kind uint64, t timeline.Time, track uint64, category, name string, notes ...note) {
	w.begin(kind, track, category, name)
	w.annotate(notes)
	w.put(t, packetTrackEvent, w.event)
}

// start starts an event of a track in w.event.
func (w *Writer) start(kind, track uint64) {
	w.event = w.event[:0]
	w.event.integer(eventType, kind)
	w.event.integer(eventTrackUUID, track)
}

// begin starts an event with a name in w.event.
func (w *Writer) begin(kind, track uint64, category, name string) {
	if name == "" {
		name = "(no name)"
	}
	w.start(kind, track)
	w.named(&w.event, internedEventCategories, eventCategoryIIDs, eventCategories, category)
	w.named(&w.event, internedEventNames, eventNameIID, eventName, name)
}

// named appends an interned name, or the name itself if there are too many.
func (w *Writer) named(m *message, table, iidField, textField int, name string) {
	if iid := w.intern(table, name); iid > 0 {
		m.integer(iidField, iid)
	} else {
		m.text(textField, name)
	}
}

// end ends the innermost slice of a track.
func (w *Writer) end(t timeline.Time, track uint64, notes ...note) {
	w.start(typeSliceEnd, track)
	w.annotate(notes)
	w.put(t, packetTrackEvent, w.event)
}

func (w *Writer) annotate(notes []note) {
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
func (w *Writer) counter(t timeline.Time, track uint64, v int64) {
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

// describe describes a new track and returns it. fill adds what is specific to its kind.
func (w *Writer) describe(fill func(d *message)) uint64 {
	w.nextUUID++
	var d message
	d.integer(descriptorUuid, w.nextUUID)
	fill(&d)
	w.put(0, packetTrackDescriptor, d)
	return w.nextUUID
}

// process describes a process and returns its track.
func (w *Writer) process(pid int64, name string) uint64 {
	return w.describe(func(d *message) {
		var p message
		p.integer(processPid, uint64(pid))
		p.text(processName, name)
		d.embed(descriptorProcess, p)
	})
}

// thread describes a thread of a process and returns its track.
func (w *Writer) thread(pid, tid int64, name string) uint64 {
	return w.describe(func(d *message) {
		var t message
		t.integer(threadPid, uint64(pid))
		t.integer(threadTid, uint64(tid))
		t.text(threadName, name)
		d.embed(descriptorThread, t)
	})
}

// track describes a track below another one and returns it.
func (w *Writer) track(parent uint64, name string) uint64 {
	return w.describe(func(d *message) {
		d.integer(descriptorParentUUID, parent)
		d.text(descriptorName, name)
	})
}

// counterTrack describes a counter track.
func (w *Writer) counterTrack(parent uint64, name string, unit uint64) uint64 {
	return w.describe(func(d *message) {
		var c message
		c.integer(counterUnit, unit)
		d.integer(descriptorParentUUID, parent)
		d.text(descriptorName, name)
		d.embed(descriptorCounter, c)
	})
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
	name := ""
	switch {
	case o.w.opt.Group != nil:
		name = o.w.opt.Group(g)
	case g.Kind != timeline.Application:
		name = "[" + g.Kind.String() + "] " + g.Name()
	default:
		name = g.Name()
	}
	name = o.w.name(name)
	if found := o.groups[name]; found != nil {
		return found
	}
	if len(o.groups) >= o.w.opt.MaxGroups && name != othersGroup {
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
	case o.tracks < o.w.opt.MaxTracks:
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
