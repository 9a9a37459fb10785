package perfevent

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Sampler records events of the threads of a process.
//
// Two kinds of events are open. Events whose occurrences are recorded, and thread switches, are
// open for each thread and processor, with inheritance: the kernel opens them for each new thread
// before it runs, so nothing is missed. One ring per processor takes their records. A group of
// counters is open for each thread that [Sampler.Follow] has found and has its own ring, because
// older kernels cannot inherit and read a group at the same time.
//
// A Sampler must not be used concurrently.
type Sampler struct {
	opt     SamplerOptions
	pid     int
	cpus    []int
	rings   []*ring // by processor
	outputs []int   // the event that owns the ring, by processor
	fds     []int
	known   map[int]bool // threads whose events are open or inherited
	sources map[uint64]source
	hits    []perThreads // by index in SamplerOptions.Hits
	clocks  perThreads   // the events that record switches; they also count the time on a processor
	groups  [][]Spec     // the Group, in parts that the hardware can count at once
	readers map[int]*groupReader
	switchy bool // groups are also read at switches

	threadsOnly bool // the kernel can distinguish new threads from new processes
	rec         Record
}

// perThreads are the descriptors of one event.
type perThreads struct{ fds []int }

// NewSampler opens the events and starts recording. It fails if even switches cannot be recorded.
// Refused single events are returned, and the rest is recorded.
func NewSampler(opt SamplerOptions) (*Sampler, []Refusal, error) {
	if opt.RingBytes <= 0 {
		opt.RingBytes = defaultRing
	}
	if opt.Period <= 0 {
		opt.Period = time.Millisecond
	}
	s := &Sampler{opt: opt, pid: opt.PID, known: map[int]bool{}, sources: map[uint64]source{}, readers: map[int]*groupReader{}}
	if s.pid == 0 {
		s.pid = os.Getpid()
	}
	var err error
	if s.cpus, err = online(); err != nil {
		return nil, nil, err
	}
	refused := s.probe()
	if err := s.openAll(); err != nil {
		s.Close()
		return nil, refused, err
	}
	return s, refused, nil
}

// probe tries the events on the process's first thread, determines how they can be opened, and
// drops those that cannot.
func (s *Sampler) probe() (refused []Refusal) {
	try := func(specs []Spec, attr func(Spec) unix.PerfEventAttr) (granted []Spec) {
		for _, spec := range specs {
			a := attr(spec)
			fd, err := openEvent(&a, s.pid, s.cpus[0], -1)
			if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
				spec.ExcludeKernel = true
				a = attr(spec)
				var userErr error
				if fd, userErr = openEvent(&a, s.pid, s.cpus[0], -1); userErr == nil {
					err = nil
				}
			}
			if err != nil {
				refused = append(refused, Refusal{spec, fmt.Errorf("perfevent: open %s: %w", spec.Name, err)})
				continue
			}
			unix.Close(fd)
			granted = append(granted, spec)
		}
		return granted
	}
	s.threadsOnly = true
	a := s.switchAttr()
	if fd, err := openEvent(&a, s.pid, s.cpus[0], -1); err == nil {
		unix.Close(fd)
	} else {
		s.threadsOnly = false
	}
	s.opt.Hits = try(s.opt.Hits, s.hitAttr)
	s.opt.Group = try(s.opt.Group, memberAttr)
	s.hits = make([]perThreads, len(s.opt.Hits))
	s.planGroups()
	return refused
}

// Hits returns the granted events, with ExcludeKernel as granted.
func (s *Sampler) Hits() []Spec { return s.opt.Hits }

// Groups returns the events that are read together, by group.
func (s *Sampler) Groups() [][]Spec { return s.groups }

// AtSwitches reports whether groups are also read at switches, not only once per period.
func (s *Sampler) AtSwitches() bool { return s.switchy }

// Fill returns how full the fullest processor ring is, from 0 to 1. Use it to decide when to drain
// again.
func (s *Sampler) Fill() (fill float64) {
	for _, r := range s.rings {
		if r != nil {
			fill = max(fill, r.fill())
		}
	}
	for _, g := range s.readers {
		for _, r := range g.rings {
			fill = max(fill, r.fill())
		}
	}
	return fill
}

// Drain calls emit with each available record, in order of time for each processor and each group.
// The record is valid during the call only.
func (s *Sampler) Drain(emit func(*Record)) {
	each := func(b []byte) error {
		ok, err := parse(b, s.sources, &s.rec)
		if ok {
			emit(&s.rec)
		}
		return err
	}
	for i, r := range s.rings {
		if r == nil {
			continue
		}
		if err := r.drain(each); err != nil {
			emit(&Record{Kind: Broken, CPU: s.cpus[i]})
		}
	}
	for tid, g := range s.readers {
		if err := g.drain(each); err != nil {
			emit(&Record{Kind: Broken, CPU: -1, Thread: tid})
		}
	}
}

// Totals returns the counts so far of the Hits and of the events of the Groups, in order, summed
// over all threads, and the time for which these threads had a processor. It reads the kernel's
// counters, not records.
func (s *Sampler) Totals() (clock Count, hits, groups []Count, err error) {
	all, err := readAll(append([]perThreads{s.clocks}, s.hits...))
	if err != nil {
		return clock, nil, nil, err
	}
	groups, err = s.groupTotals()
	return all[0], all[1:], groups, err
}

func readAll(events []perThreads) ([]Count, error) {
	out := make([]Count, len(events))
	for i, e := range events {
		for _, fd := range e.fds {
			c, err := readCount(fd)
			if err != nil {
				return nil, err
			}
			out[i].add(c)
		}
	}
	return out, nil
}

func (c *Count) add(d Count) {
	c.Value += d.Value
	c.Enabled += d.Enabled
	c.Running += d.Running
}

func readCount(fd int) (Count, error) {
	e := Event{fd: fd}
	return e.Read()
}

// Stop ends the recording: nothing more is counted or written. Records in the rings can still be
// drained.
func (s *Sampler) Stop() {
	for _, fd := range s.fds {
		unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
	for _, g := range s.readers {
		g.disable()
	}
}

// Close releases all resources.
func (s *Sampler) Close() error {
	var errs []error
	for _, g := range s.readers {
		errs = append(errs, g.close())
	}
	for _, r := range s.rings {
		if r != nil {
			errs = append(errs, r.unmap())
		}
	}
	for _, fd := range s.fds {
		errs = append(errs, unix.Close(fd))
	}
	s.readers, s.rings, s.fds = nil, nil, nil
	return errors.Join(errs...)
}
