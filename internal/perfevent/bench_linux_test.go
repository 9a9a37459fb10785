package perfevent

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkSwitch measures, in processor time of the process, a switch of threads: two threads that
// wait for each other, on one processor.
func BenchmarkSwitch(b *testing.B) {
	minor, _ := Named("minor-faults")
	major, _ := Named("major-faults")
	for _, tt := range []struct {
		name string
		opt  *SamplerOptions
	}{
		{"bare", nil},
		{"switches", &SamplerOptions{}},
		{"switches and faults", &SamplerOptions{Hits: []Spec{minor, major}}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			if tt.opt != nil {
				s, _, err := NewSampler(*tt.opt)
				if err != nil {
					b.Skip(err)
				}
				defer s.Close()
			}
			var there, back [2]int
			if unix.Pipe(there[:]) != nil || unix.Pipe(back[:]) != nil {
				b.Skip("no pipes")
			}
			go func() {
				runtime.LockOSThread()
				pin()
				buf := []byte{0}
				for {
					if n, _ := unix.Read(there[0], buf); n != 1 {
						return
					}
					unix.Write(back[1], buf)
				}
			}()
			runtime.LockOSThread()
			pin()
			buf := []byte{0}
			before := processNanos()
			for b.Loop() {
				unix.Write(there[1], buf)
				unix.Read(back[0], buf)
			}
			b.ReportMetric(float64(processNanos()-before)/float64(2*b.N), "cpu-ns/switch")
			unix.Close(there[1])
		})
	}
}

func pin() {
	var set unix.CPUSet
	set.Set(0)
	unix.SchedSetaffinity(0, &set)
}

func processNanos() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts)
	return ts.Nano()
}
