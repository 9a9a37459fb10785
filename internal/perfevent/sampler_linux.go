package perfevent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Sampler records events of the threads of a process.
//
// Events whose occurrences are recorded, and thread switches, are open for each thread and
// processor, with inheritance, so nothing of new threads is missed. One ring per processor takes
// their records. A group of counters is open for each thread that [Sampler.Follow] has found and has
// its own ring, because older kernels cannot inherit and read a group at the same time.
//
// A Sampler must not be used concurrently.
type Sampler struct {
	opt     SamplerOptions
	pid     int
	cpus    []int
	rings   []*ring // by processor; nil if it went offline
	outputs []int   // the event that owns the ring, by processor
	attrs   []unix.PerfEventAttr
	fds     [][]int // by attrs: the events that record switches and count the time on a processor, then the Hits
	sources map[uint64]source
	groups  [][]Spec // the Group, in parts that the hardware can count at once
	readers map[int][]*group
	switchy bool // groups are also read at switches
	// ringBytes is the size of a processor's ring, a power of two; less if the system requires it.
	ringBytes int
	rec       Record
}

// NewSampler opens the events and starts recording. It fails if even switches cannot be recorded.
// Refused single events are returned, and the rest is recorded.
func NewSampler(opt SamplerOptions) (*Sampler, []Refusal, error) {
	if opt.Period <= 0 {
		opt.Period = time.Millisecond
	}
	s := &Sampler{opt: opt, pid: cmp.Or(opt.PID, os.Getpid()), ringBytes: 2 << 20, sources: map[uint64]source{}, readers: map[int][]*group{}}
	var err error
	if s.cpus, err = online(); err != nil {
		return nil, nil, err
	}
	s.rings, s.outputs = make([]*ring, len(s.cpus)), make([]int, len(s.cpus))
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
	const inheritThread = 1 << 35 // child processes are not followed (Linux 5.13)
	threads := uint64(inheritThread)
	hit := func(spec Spec) unix.PerfEventAttr {
		a := attrOf(spec)
		a.Sample_type, a.Sample, a.Clockid, a.Wakeup = sampleType, 1, unix.CLOCK_MONOTONIC, uint32(s.ringBytes/4)
		a.Bits |= unix.PerfBitInherit | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark | threads
		return a
	}
	switched := func() unix.PerfEventAttr {
		a := hit(Spec{Type: typeSoftware, Config: softwareTaskClock, ExcludeKernel: true}) // it counts in either mode
		a.Sample = 0
		a.Bits |= unix.PerfBitContextSwitch | unix.PerfBitTask
		return a
	}
	try := func(specs []Spec, attr func(Spec) unix.PerfEventAttr) (granted []Spec) {
		for _, spec := range specs {
			fd, spec, err := openGranted(spec, func(spec Spec) (int, error) { return openEvent(attr(spec), s.pid, s.cpus[0], -1) })
			if err != nil {
				refused = append(refused, Refusal{spec, fmt.Errorf("perfevent: open %s: %w", spec.Name, err)})
				continue
			}
			unix.Close(fd)
			granted = append(granted, spec)
		}
		return granted
	}
	if fd, err := openEvent(switched(), s.pid, s.cpus[0], -1); err == nil {
		unix.Close(fd)
	} else {
		threads = 0
	}
	s.opt.Hits = try(s.opt.Hits, hit)
	s.opt.Group = try(s.opt.Group, memberAttr)
	s.attrs = []unix.PerfEventAttr{switched()}
	for _, spec := range s.opt.Hits {
		s.attrs = append(s.attrs, hit(spec))
	}
	s.fds = make([][]int, len(s.attrs))
	s.planGroups()
	return refused
}

// openAll opens the events of every existing thread, and later ones inherit them. But a thread
// created during that time inherits only those that its creator already had, with no way to see which;
// then all are opened again.
func (s *Sampler) openAll() error {
	tids, err := threadsOf(s.pid)
	for range 100 {
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if err := s.openThread(tid); err != nil && !exited(err) {
				return err
			}
		}
		before := tids
		if tids, err = threadsOf(s.pid); err == nil && !slices.ContainsFunc(tids, func(tid int) bool { return !slices.Contains(before, tid) }) {
			return nil
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return errors.New("perfevent: the process makes threads faster than they can be found")
}

// exited reports whether an event could not be opened or mapped because its thread has exited.
func exited(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENODEV) }

// openThread opens the inherited events for one thread on all processors. They write into the ring
// of the processor, which the first of them creates.
func (s *Sampler) openThread(tid int) error {
	for i, cpu := range s.cpus {
		for n, a := range s.attrs {
			fd, err := openEvent(a, tid, cpu, -1)
			if n == 0 && errors.Is(err, unix.ENODEV) {
				break // the processor went offline
			}
			if err != nil {
				return fmt.Errorf("perfevent: record the events of thread %d: %w", tid, err)
			}
			s.fds[n] = append(s.fds[n], fd)
			if n > 0 {
				if err := s.identify(fd, source{Hit, n - 1}); err != nil {
					return err
				}
			}
			if s.rings[i] != nil {
				err = shareRing(fd, s.outputs[i])
			} else if s.rings[i], err = mapRing(fd, s.ringBytes); err == nil {
				s.outputs[i], s.ringBytes = fd, len(s.rings[i].data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Hits returns the granted events, with ExcludeKernel as granted.
func (s *Sampler) Hits() []Spec { return s.opt.Hits }

// Groups returns the events that are read together, by group.
func (s *Sampler) Groups() [][]Spec { return s.groups }

// AtSwitches reports whether groups are also read at switches, not only once per period.
func (s *Sampler) AtSwitches() bool { return s.switchy }

// each calls f with each ring, and its processor or thread.
func (s *Sampler) each(f func(r *ring, cpu, tid int)) {
	for i, r := range s.rings {
		if r != nil {
			f(r, s.cpus[i], 0)
		}
	}
	for tid, groups := range s.readers {
		for _, g := range groups {
			f(g.ring, -1, tid)
		}
	}
}

// Fill returns how full the fullest ring is, from 0 to 1. Use it to decide when to drain again.
func (s *Sampler) Fill() (fill float64) {
	s.each(func(r *ring, _, _ int) { fill = max(fill, r.fill()) })
	return fill
}

// Drain calls emit with each available record, in order of time for each processor and each group.
// The record is valid during the call only.
func (s *Sampler) Drain(emit func(*Record)) {
	s.each(func(r *ring, cpu, tid int) {
		err := r.drain(func(b []byte) error {
			ok, err := parse(b, s.sources, &s.rec)
			if ok {
				emit(&s.rec)
			}
			return err
		})
		if err != nil {
			emit(&Record{Kind: Broken, CPU: cpu, Thread: tid})
		}
	})
}

// Totals returns the counts so far of the Hits and of the events of the Groups, in order, summed
// over all threads, and the time for which these threads had a processor. It reads the kernel's
// counters, not records.
func (s *Sampler) Totals() (clock Count, hits, groups []Count, err error) {
	all := make([]Count, len(s.fds))
	for i, fds := range s.fds {
		for _, fd := range fds {
			c, err := (&Event{fd: fd}).Read()
			if err != nil {
				return clock, nil, nil, err
			}
			all[i].add(c)
		}
	}
	groups, err = s.groupTotals()
	return all[0], all[1:], groups, err
}

func (c *Count) add(d Count) {
	c.Value += d.Value
	c.Enabled += d.Enabled
	c.Running += d.Running
}

// Stop ends the recording: nothing more is counted or written. Records in the rings can still be
// drained.
func (s *Sampler) Stop() {
	for _, fds := range s.fds {
		for _, fd := range fds {
			unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
		}
	}
	for _, groups := range s.readers {
		for _, g := range groups {
			unix.IoctlSetInt(g.fds[0], unix.PERF_EVENT_IOC_DISABLE, 0)
		}
	}
}

// Close releases all resources.
func (s *Sampler) Close() error {
	var errs []error
	s.each(func(r *ring, _, _ int) { errs = append(errs, r.unmap()) })
	for _, fds := range s.fds {
		errs = append(errs, closeAll(fds))
	}
	for _, groups := range s.readers {
		for _, g := range groups {
			errs = append(errs, closeAll(g.fds))
		}
	}
	clear(s.rings)
	clear(s.fds)
	clear(s.readers)
	return errors.Join(errs...)
}

const sampleType = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU

// identify makes records of an event refer to a source.
func (s *Sampler) identify(fd int, src source) error {
	var id uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return fmt.Errorf("perfevent: number of an event: %w", errno)
	}
	s.sources[id] = src
	return nil
}

// shareRing makes an event write into the ring of another one.
func shareRing(fd, owner int) error {
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, owner); err != nil {
		return fmt.Errorf("perfevent: share a ring: %w", err)
	}
	return nil
}

// mapRing maps the ring of an event with the given size, or a smaller one if the limits on locked
// memory require it.
func mapRing(fd, size int) (*ring, error) {
	page := unix.Getpagesize()
	for {
		b, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return newRing(b, page), nil
		}
		if size /= 2; size < page || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			return nil, fmt.Errorf("perfevent: map a ring: %w", err)
		}
	}
}

func (r *ring) unmap() error { return unix.Munmap(r.page) }

func closeAll(fds []int) error {
	var errs []error
	for _, fd := range fds {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}

// online returns the processors that are online or, without sysfs, those that this process may use.
func online() (cpus []int, err error) {
	if cpus, err = onlineList(); err == nil {
		return cpus, nil
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// threadsOf lists the threads of a process.
func threadsOf(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil, fmt.Errorf("perfevent: threads of process %d: %w", pid, err)
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}
