// Package leaks gives access to the runtime's profile of leaked goroutines: those that wait for a
// channel or a lock that no goroutine can reach that may still run, and so never end.
package leaks

import (
	"errors"
	"runtime/pprof"
)

var errNone = errors.New("the runtime of this program has no profile of leaked goroutines: it takes Go 1.27, or Go 1.26 with GOEXPERIMENT=goroutineleakprofile when the program is built")

// Profile returns the profile. Writing it takes a garbage collection, which finds the goroutines.
// The error says why there is none.
func Profile() (*pprof.Profile, error) {
	if p := pprof.Lookup("goroutineleak"); p != nil {
		return p, nil
	}
	return nil, errNone
}
