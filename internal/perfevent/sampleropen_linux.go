package perfevent

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const sampleType = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU

// base returns the attributes common to all events. perf_event_open(2) documents the fields.
func (s *Sampler) base(spec Spec) unix.PerfEventAttr {
	a := unix.PerfEventAttr{Type: spec.Type, Config: spec.Config, Sample_type: sampleType, Clockid: unix.CLOCK_MONOTONIC,
		Bits:        unix.PerfBitInherit | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	if s.threadsOnly {
		a.Bits |= inheritThread
	}
	if spec.ExcludeKernel {
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return a
}

// inheritThread restricts inheritance to threads: child processes are not followed (Linux 5.13).
const inheritThread = 1 << 35

func (s *Sampler) switchAttr() unix.PerfEventAttr {
	a := s.base(Spec{Type: typeSoftware, Config: softwareTaskClock, ExcludeKernel: true}) // it counts in either mode
	a.Bits |= unix.PerfBitContextSwitch | unix.PerfBitTask | unix.PerfBitWatermark
	a.Wakeup = uint32(s.opt.RingBytes / 4)
	return a
}

func (s *Sampler) hitAttr(spec Spec) unix.PerfEventAttr {
	a := s.base(spec)
	a.Sample = 1 // every occurrence
	a.Bits |= unix.PerfBitWatermark
	a.Wakeup = uint32(s.opt.RingBytes / 4)
	return a
}

// openAll opens the events of every existing thread. A thread created during that time inherits
// them if its creator already had them, which a record in a ring shows; otherwise it is opened,
// too.
func (s *Sampler) openAll() error {
	for range 100 {
		tids, err := threadsOf(s.pid)
		if err != nil {
			return err
		}
		fresh := 0
		for _, tid := range tids {
			if s.known[tid] {
				continue
			}
			if err := s.openThread(tid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			fresh++
		}
		if fresh == 0 {
			return nil
		}
		time.Sleep(time.Millisecond) // a thread's record appears slightly after the thread
		for _, r := range s.rings {
			r.peek(func(b []byte) {
				if ok, _ := parse(b, s.sources, &s.rec); ok && s.rec.Kind == ThreadBegin {
					s.known[s.rec.Thread] = true
				}
			})
		}
	}
	return errors.New("perfevent: the process makes threads faster than they can be found")
}

// openThread opens the inherited events for one thread on all processors.
func (s *Sampler) openThread(tid int) error {
	for i, cpu := range s.cpus {
		a := s.switchAttr()
		fd, err := openEvent(&a, tid, cpu, -1)
		if err != nil {
			if errors.Is(err, unix.ENODEV) {
				continue // the processor went offline
			}
			return fmt.Errorf("perfevent: record the switches of threads: %w", err)
		}
		s.fds, s.clocks.fds = append(s.fds, fd), append(s.clocks.fds, fd)
		if err := s.direct(fd, i); err != nil {
			return err
		}
		for n, spec := range s.opt.Hits {
			if err := s.openOne(s.hitAttr(spec), tid, i, &s.hits[n], source{Hit, n}); err != nil {
				return err
			}
		}
	}
	s.known[tid] = true
	return nil
}

func (s *Sampler) openOne(a unix.PerfEventAttr, tid, i int, into *perThreads, src source) error {
	fd, err := openEvent(&a, tid, s.cpus[i], -1)
	if err != nil {
		return fmt.Errorf("perfevent: open an event of thread %d: %w", tid, err)
	}
	into.fds = append(into.fds, fd)
	s.fds = append(s.fds, fd)
	if src.kind == 0 {
		return nil
	}
	id, err := eventID(fd)
	if err != nil {
		return err
	}
	s.sources[id] = src
	return s.direct(fd, i)
}

// direct makes an event write into the ring of the processor, creating the ring for the first
// event.
func (s *Sampler) direct(fd, i int) error {
	for len(s.rings) <= i {
		s.rings, s.outputs = append(s.rings, nil), append(s.outputs, -1)
	}
	if s.rings[i] == nil {
		r, err := mapRing(fd, s.opt.RingBytes)
		if err != nil {
			return err
		}
		s.opt.RingBytes = len(r.data)
		s.rings[i], s.outputs[i] = r, fd
		return nil
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, s.outputs[i]); err != nil {
		return fmt.Errorf("perfevent: share a ring: %w", err)
	}
	return nil
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
