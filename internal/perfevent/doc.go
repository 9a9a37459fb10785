// Package perfevent is a thin layer over Linux's perf_event_open: it opens one
// counting event for one thread, reads it with read(2) or, where the kernel
// permits, with RDPMC in user mode, and finds the dynamic event sources that
// the kernel lists in sysfs (such as msr/tsc).
//
// An [Event] is only counted. A [Sampler] records what happens to all threads of a process, those
// that are made later, too: when they get a processor and lose it, each single occurrence of rare
// events such as page faults, and readings of groups of counters (sampleropen_linux.go opens,
// ring.go takes what the kernel writes, record.go reads it).
//
// Nothing is scaled: an event that had to share its
// counter with others shows Running < Enabled in its [Count], and the caller decides.
//
// That an event opens does not mean that it counts: virtual machines accept
// events that stay at zero. Callers probe by counting, see package
// github.com/bottleneck-go/bottleneck/internal/cycles.
//
// A sampler in a few lines:
//
//	faults, err := perfevent.Named("minor-faults")
//	if err != nil {
//		log.Fatal(err)
//	}
//	s, refused, err := perfevent.NewSampler(perfevent.SamplerOptions{Hits: []perfevent.Spec{faults}})
//	if err != nil {
//		log.Fatal(perfevent.Reason(faults, err))
//	}
//	for _, r := range refused {
//		log.Print(r.Spec.Name, ": ", perfevent.Reason(r.Spec, r.Err))
//	}
//	s.Drain(func(r *perfevent.Record) { fmt.Println(r.Thread, r.Time, r.Kind) })
//	s.Close()
//
// Costs (2-core virtual machine, Linux 6.18): a Sampler 1.2 µs for each switch of a thread, and 0.4
// µs more for each event of its Hits (BenchmarkSwitch); opening and closing an event 2.4 µs, Read
// 0.34 µs, ReadUser 25–80 ns where the hardware permits it (not measured here: that machine has no
// hardware counters).
//
// On other systems than Linux everything fails with [errors.ErrUnsupported].
package perfevent
