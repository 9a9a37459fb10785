package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// groupRing is the size of a thread's ring. Each reading is about 100 bytes, one per switch and one
// per period.
const groupRing = 64 << 10

// groupReader holds the groups of one thread. Each group is led by a clock that ticks while the
// thread has a processor and reads the group. If the kernel permits it, the group contains a count
// of switches, which reads the group whenever the thread leaves its processor.
type groupReader struct {
	leaders []int
	fds     []int
	members [][]int // by group: the requested events
	rings   []*ring
}

// memberAttr returns the attributes of an event of a group, which only counts.
func memberAttr(spec Spec) unix.PerfEventAttr {
	a := unix.PerfEventAttr{Type: spec.Type, Config: spec.Config,
		Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC, // all events of a group must have the same clock
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	if spec.ExcludeKernel {
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return a
}

// readerAttr returns the attributes of an event that reads its group after each every counts.
func readerAttr(spec Spec, every uint64) unix.PerfEventAttr {
	a := memberAttr(spec)
	a.Sample, a.Sample_type = every, sampleType|unix.PERF_SAMPLE_READ
	a.Bits |= unix.PerfBitSampleIDAll | unix.PerfBitWatermark
	a.Wakeup = groupRing / 4
	return a
}

// extra returns the number of values in a group's reading that precede the requested ones: the
// clock's and possibly the count of switches.
func (s *Sampler) extra() int {
	n := 1
	if s.switchy {
		n++
	}
	return n
}

// Extra returns the number of values in a reading that precede those of the requested events.
func (s *Sampler) Extra() int { return s.extra() }

// planGroups divides the events into as few groups as the hardware can count at once.
func (s *Sampler) planGroups() {
	if len(s.opt.Group) == 0 {
		return
	}
	a := readerAttr(switches, 1)
	if fd, err := openEvent(&a, s.pid, -1, -1); err == nil {
		unix.Close(fd)
		s.switchy = true // counting switches requires kernel counting, which was just granted
	}
	left := s.opt.Group
	for len(left) > 0 {
		n := 1
		for n < len(left) {
			g, err := s.openGroup(s.pid, left[:n+1], 0)
			if err != nil {
				break
			}
			g.close()
			n++
		}
		s.groups = append(s.groups, left[:n])
		left = left[n:]
	}
}

var switches = Spec{Name: "context-switches", Type: typeSoftware, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES}

// openGroup opens one group of a thread and its ring.
func (s *Sampler) openGroup(tid int, specs []Spec, number int) (_ *groupReader, err error) {
	g := &groupReader{}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	open := func(a unix.PerfEventAttr, samples bool) (int, error) {
		leader := -1
		if len(g.leaders) > 0 {
			leader = g.leaders[0]
		}
		fd, err := openEvent(&a, tid, -1, leader)
		if err != nil {
			return -1, err
		}
		g.fds = append(g.fds, fd)
		if leader < 0 {
			g.leaders = append(g.leaders, fd)
		}
		if !samples {
			return fd, nil
		}
		id, err := eventID(fd)
		s.sources[id] = source{Reading, number}
		return fd, err
	}
	clock := TaskClock
	clock.ExcludeKernel = !s.switchy
	first := readerAttr(clock, uint64(s.opt.Period))
	first.Bits |= unix.PerfBitDisabled // an event that joins a counting group may not count until the thread is switched
	leader, err := open(first, true)
	if err != nil {
		return nil, err
	}
	r, err := mapRing(leader, groupRing)
	if err != nil {
		return nil, err
	}
	g.rings = append(g.rings, r)
	if s.switchy {
		fd, err := open(readerAttr(switches, 1), true)
		if err != nil {
			return nil, err
		}
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, leader); err != nil {
			return nil, fmt.Errorf("perfevent: share a ring: %w", err)
		}
	}
	var members []int
	for _, spec := range specs {
		fd, err := open(memberAttr(spec), false)
		if err != nil {
			return nil, err
		}
		members = append(members, fd)
	}
	g.members = append(g.members, members)
	if err := unix.IoctlSetInt(leader, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return nil, fmt.Errorf("perfevent: enable a group: %w", err)
	}
	return g, nil
}

// Follow opens the groups of threads that appeared since the last call and calls found with each of
// them. Their earlier activity is not counted.
func (s *Sampler) Follow(found func(tid int)) error {
	if len(s.groups) == 0 {
		return nil
	}
	tids, err := threadsOf(s.pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil // the process has ended
	}
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if s.readers[tid] != nil {
			continue
		}
		all := &groupReader{}
		for n, specs := range s.groups {
			g, err := s.openGroup(tid, specs, n)
			if errors.Is(err, unix.ESRCH) {
				break // already gone
			}
			if err != nil {
				all.close()
				return fmt.Errorf("perfevent: read the counters of thread %d: %w", tid, err)
			}
			all.leaders = append(all.leaders, g.leaders...)
			all.fds = append(all.fds, g.fds...)
			all.members = append(all.members, g.members...)
			all.rings = append(all.rings, g.rings...)
		}
		s.readers[tid] = all
		found(tid)
	}
	return nil
}

// Final calls emit with a last reading of every thread. Call it after Stop.
func (s *Sampler) Final(emit func(*Record)) error {
	for tid, g := range s.readers {
		for n, leader := range g.leaders {
			values, c, err := readGroup(leader)
			if err != nil {
				return err
			}
			var ts unix.Timespec
			if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
				return err
			}
			emit(&Record{Kind: Reading, Event: n, CPU: -1, Thread: tid, Time: ts.Nano(), Values: values, Enabled: c.Enabled, Running: c.Running})
		}
	}
	return nil
}

func (g *groupReader) drain(each func([]byte) error) error {
	var errs []error
	for _, r := range g.rings {
		errs = append(errs, r.drain(each))
	}
	return errors.Join(errs...)
}

func (g *groupReader) disable() {
	for _, fd := range g.leaders {
		unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
}

func (g *groupReader) close() error {
	var errs []error
	for _, r := range g.rings {
		errs = append(errs, r.unmap())
	}
	for _, fd := range g.fds {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}

// groupTotals returns the counts of the events of the groups, summed over all threads.
func (s *Sampler) groupTotals() ([]Count, error) {
	sum := make([]Count, len(s.opt.Group))
	for _, g := range s.readers {
		i := 0
		for n, members := range g.members {
			values, c, err := readGroup(g.leaders[n])
			if err != nil {
				return nil, err
			}
			values = values[min(len(values), s.extra()):]
			for k := range members {
				if k < len(values) {
					c.Value = values[k]
					sum[i].add(c)
				}
				i++
			}
		}
	}
	return sum, nil
}

// readGroup reads all values of a group.
func readGroup(leader int) (values []uint64, c Count, err error) {
	var buf [64]uint64
	n, err := unix.Read(leader, unsafe.Slice((*byte)(unsafe.Pointer(&buf)), unsafe.Sizeof(buf)))
	if err != nil || n < 24 {
		return nil, c, fmt.Errorf("perfevent: read a group: %d bytes, %w", n, err)
	}
	k := min(int(buf[0]), (n-24)/8)
	return buf[3 : 3+k], Count{Enabled: buf[1], Running: buf[2]}, nil
}
