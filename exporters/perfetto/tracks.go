package perfetto

import (
	"strconv"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Perfetto knows processes with threads. Here, the program as a whole, its processors, and each
// group of goroutines are processes; processors and goroutines are threads. Process numbers are
// above those of threads, since a process has a first thread of the same number.
const (
	programPID    = 2_000_000_000
	processorsPID = programPID + 1
	groupsPID     = programPID + 2
	// Goroutines with numbers from here on, and threads that are not a goroutine's, get numbers
	// of their own.
	otherTIDs = 1_000_000_000
)

// process describes a process, and returns its track.
func (w *Writer) process(pid int64, name string) uint64 {
	var p, d message
	p.integer(processPid, uint64(pid))
	p.text(processName, name)
	uuid := w.uuid()
	d.integer(descriptorUuid, uuid)
	d.embed(descriptorProcess, p)
	w.put(0, packetTrackDescriptor, d)
	return uuid
}

// thread describes a thread of a process, and returns its track.
func (w *Writer) thread(pid, tid int64, name string) uint64 {
	var t, d message
	t.integer(threadPid, uint64(pid))
	t.integer(threadTid, uint64(tid))
	t.text(threadName, name)
	uuid := w.uuid()
	d.integer(descriptorUuid, uuid)
	d.embed(descriptorThread, t)
	w.put(0, packetTrackDescriptor, d)
	return uuid
}

// track describes a track beneath another one, and returns it.
func (w *Writer) track(parent uint64, name string) uint64 {
	var d message
	uuid := w.uuid()
	d.integer(descriptorUuid, uuid)
	d.integer(descriptorParentUUID, parent)
	d.text(descriptorName, name)
	w.put(0, packetTrackDescriptor, d)
	return uuid
}

// counterTrack describes a track of numbers.
func (w *Writer) counterTrack(parent uint64, name string, unit uint64) uint64 {
	var c, d message
	c.integer(counterUnit, unit)
	uuid := w.uuid()
	d.integer(descriptorUuid, uuid)
	d.integer(descriptorParentUUID, parent)
	d.text(descriptorName, name)
	d.embed(descriptorCounter, c)
	w.put(0, packetTrackDescriptor, d)
	return uuid
}

// group is a process for goroutines that belong together.
type group struct {
	name  string
	pid   int64
	free  []uint64 // shared tracks without a goroutine at present
	lanes int      // shared tracks
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
	if len(o.groups) >= o.w.opt.MaxGroups {
		name = othersGroup
		if found := o.groups[name]; found != nil {
			return found
		}
	}
	made := &group{name: name, pid: groupsPID + int64(len(o.groups))}
	o.groups[name] = made
	o.w.process(made.pid, name)
	return made
}

// appear gives a goroutine a track.
func (o *observer) appear(g *timeline.Goroutine) *lane {
	l := &lane{id: g.ID, group: o.groupOf(g)}
	switch {
	case o.tracks < o.w.opt.MaxTracks:
		o.tracks++
		tid := g.ID
		if tid <= 0 || tid >= otherTIDs || o.threads[tid] { // it changes its track, or is back after a gap or an exit (threads of C)
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
