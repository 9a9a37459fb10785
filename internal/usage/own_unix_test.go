//go:build unix

package usage

import "syscall"

// own returns what this process has used.
func own() map[string]float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return map[string]float64{"page-faults": float64(u.Minflt + u.Majflt), "voluntary-switches": float64(u.Nvcsw), "involuntary-switches": float64(u.Nivcsw),
		"processor-time": float64(syscall.TimevalToNsec(u.Utime) + syscall.TimevalToNsec(u.Stime))}
}
