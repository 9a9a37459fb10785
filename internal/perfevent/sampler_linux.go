package perfevent

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Sampler records what happens to the threads of a process.
//
// Two kinds of events are open. Those whose single occurrences matter, and the switches of threads,
// are open for each thread and processor, with inheritance: the kernel opens them for each new
// thread before it runs, so that nothing is missed. One ring a processor takes their records. A
// group of counters, which older kernels cannot inherit and read at the same time, is open for each
// thread that [Sampler.Follow] has found, with a ring of its own.
//
// A Sampler is used by one goroutine at a time.
type Sampler struct {
	opt     SamplerOptions
	pid     int
	cpus    []int
	rings   []*ring // by processor
	outputs []int   // the event that owns the ring, by processor
	fds     []int
	known   map[int]bool // threads whose events are open or inherited
	sources map[uint64]source
	hits    []perThreads // by number of SamplerOptions.Hits
	clocks  perThreads   // the events that record switches: they count the time on a processor meanwhile
	groups  [][]Spec     // the Group, in parts that the hardware can count at once
	readers map[int]*groupReader
	switchy bool // groups are read at switches, too

	threadsOnly bool // the kernel can tell threads from processes that are started
	rec         Record
}

// perThreads are the descriptors of one event.
type perThreads struct{ fds []int }

// NewSampler opens the events and begins to record. It fails when not even switches can be
// recorded; events that are refused one by one are returned, and the rest is recorded.
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

// probe finds out on the process's first thread which of the events can be opened, and how, and
// leaves the rest out.
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

// Hits returns the events that were granted, with ExcludeKernel as it was granted.
func (s *Sampler) Hits() []Spec { return s.opt.Hits }

// Groups returns the events that are read together, group by group.
func (s *Sampler) Groups() [][]Spec { return s.groups }

// AtSwitches reports whether groups are read at switches, too, not only once a period.
func (s *Sampler) AtSwitches() bool { return s.switchy }

// Fill returns how full the fullest ring of a processor is, from 0 to 1: whether to come again
// soon.
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

// Drain calls emit with each record that is there, in the order of time for each processor and each
// group. The record is valid during the call.
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

// Totals returns what the Hits and the events of the Groups, one after the other, have counted in
// all so far, on all threads, and how long these had a processor. It is read from the kernel's
// counters, not from records.
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

// Stop ends the recording: nothing more is counted or written. What is in the rings can still be
// drained.
func (s *Sampler) Stop() {
	for _, fd := range s.fds {
		unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
	for _, g := range s.readers {
		g.disable()
	}
}

// Close gives everything back.
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
