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

// group is a group of counters of one thread, led by a clock that ticks while the thread has a
// processor and reads the group. If the kernel permits it, the group contains a count of switches,
// which reads the group whenever the thread leaves its processor.
type group struct {
	fds  []int // that of the clock first
	ring *ring
}

// memberAttr returns the attributes of an event of a group, which only counts.
func memberAttr(spec Spec) unix.PerfEventAttr {
	a := attrOf(spec)
	a.Bits |= unix.PerfBitUseClockID
	a.Clockid = unix.CLOCK_MONOTONIC // all events of a group must have the same clock
	a.Read_format |= unix.PERF_FORMAT_GROUP
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

// Extra returns the number of values in a reading that precede those of the requested events: the
// clock's and possibly the count of switches.
func (s *Sampler) Extra() int {
	if s.switchy {
		return 2
	}
	return 1
}

// planGroups divides the events into as few groups as the hardware can count at once.
func (s *Sampler) planGroups() {
	if len(s.opt.Group) == 0 {
		return
	}
	if fd, err := openEvent(readerAttr(switches, 1), s.pid, -1, -1); err == nil {
		unix.Close(fd)
		s.switchy = true // counting switches requires kernel counting, which was just granted
	}
	for left := s.opt.Group; len(left) > 0; {
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
func (s *Sampler) openGroup(tid int, specs []Spec, number int) (_ *group, err error) {
	g := &group{}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	clock := TaskClock
	clock.ExcludeKernel = !s.switchy
	attrs := []unix.PerfEventAttr{readerAttr(clock, uint64(s.opt.Period))}
	attrs[0].Bits |= unix.PerfBitDisabled // an event that joins a counting group may not count until the thread is switched
	if s.switchy {
		attrs = append(attrs, readerAttr(switches, 1))
	}
	for _, spec := range specs {
		attrs = append(attrs, memberAttr(spec))
	}
	leader := -1
	for i, a := range attrs {
		fd, err := openEvent(a, tid, -1, leader)
		if err != nil {
			return nil, err
		}
		g.fds = append(g.fds, fd)
		if i >= s.Extra() {
			continue
		}
		if err := s.identify(fd, source{Reading, number}); err != nil {
			return nil, err
		}
		if i > 0 {
			err = shareRing(fd, leader)
		} else {
			leader = fd
			g.ring, err = mapRing(fd, groupRing)
		}
		if err != nil {
			return nil, err
		}
	}
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
		if _, known := s.readers[tid]; known {
			continue
		}
		var all []*group
		for n, specs := range s.groups {
			g, err := s.openGroup(tid, specs, n)
			if exited(err) {
				break
			}
			if err != nil {
				for _, g := range all {
					g.close()
				}
				return fmt.Errorf("perfevent: read the counters of thread %d: %w", tid, err)
			}
			all = append(all, g)
		}
		s.readers[tid] = all
		found(tid)
	}
	return nil
}

// Final calls emit with a last reading of every thread. Call it after Stop.
func (s *Sampler) Final(emit func(*Record)) error {
	for tid, groups := range s.readers {
		for n, g := range groups {
			values, c, err := g.read()
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

func (g *group) close() error {
	var err error
	if g.ring != nil {
		err = g.ring.unmap()
	}
	return errors.Join(err, closeAll(g.fds))
}

// groupTotals returns the counts of the events of the groups, summed over all threads.
func (s *Sampler) groupTotals() ([]Count, error) {
	sum := make([]Count, len(s.opt.Group))
	for _, groups := range s.readers {
		first := 0 // event of the group
		for n, g := range groups {
			values, c, err := g.read()
			if err != nil {
				return nil, err
			}
			for k, v := range values[min(len(values), s.Extra()):] {
				c.Value = v
				sum[first+k].add(c)
			}
			first += len(s.groups[n])
		}
	}
	return sum, nil
}

func (g *group) read() (values []uint64, c Count, err error) {
	var buf [64]uint64
	n, err := unix.Read(g.fds[0], unsafe.Slice((*byte)(unsafe.Pointer(&buf)), unsafe.Sizeof(buf)))
	if err != nil || n < 24 {
		return nil, c, fmt.Errorf("perfevent: read a group: %d bytes, %w", n, err)
	}
	k := min(int(buf[0]), (n-24)/8, len(g.fds))
	return buf[3 : 3+k], Count{Enabled: buf[1], Running: buf[2]}, nil
}
