// Package starter knows the functions of libraries that start goroutines for
// their callers. Every goroutine of sync.(*WaitGroup).Go begins in
// sync.(*WaitGroup).Go.func1, which tells nothing of what it is for.
package starter

import "strings"

// prefixes begin the names of such functions.
var prefixes = []string{
	"sync.(*WaitGroup).Go",
	"runtime.corostart",   // of iter.Pull
	"runtime.cgocallback", // by which a thread of C calls Go
	"golang.org/x/sync/errgroup.(*Group).",
	"github.com/sourcegraph/conc",
	"github.com/bottleneck-go/bottleneck/granularity.",
	"github.com/bottleneck-go/bottleneck/internal/background.",
	"github.com/bottleneck-go/bottleneck/internal/cycles.", // which granularity calls around each task
	"github.com/bottleneck-go/bottleneck/internal/perfevent.",
	"github.com/bottleneck-go/bottleneck/internal/callstack.",
	"golang.org/x/sys/", // which they call
}

// Is reports whether the function starts goroutines for its callers, or is part of what it starts.
func Is(function string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}
