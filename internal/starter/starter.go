// Package starter lists the library functions that start goroutines for their callers. Every
// goroutine of sync.(*WaitGroup).Go begins in sync.(*WaitGroup).Go.func1, a name that does not
// identify its work.
package starter

import "strings"

// prefixes are the prefixes of the names of functions that start goroutines for their callers.
var prefixes = []string{
	"sync.(*WaitGroup).Go",
	"runtime.corostart",   // of iter.Pull
	"runtime.cgocallback", // called when a C thread calls Go
	"golang.org/x/sync/errgroup.(*Group).",
	"github.com/sourcegraph/conc",
	"github.com/bottleneck-go/bottleneck/granularity.",
	"github.com/bottleneck-go/bottleneck/internal/background.",
	"github.com/bottleneck-go/bottleneck/internal/cycles.", // called by granularity around each task
	"github.com/bottleneck-go/bottleneck/internal/perfevent.",
	"github.com/bottleneck-go/bottleneck/internal/callstack.",
	"golang.org/x/sys/", // called by those
}

// Pools are the modules, without major version, whose pools of goroutines run tasks that package
// instrument marks in a trace: as regions of a user task of this name.
var Pools = []string{"github.com/panjf2000/ants", "github.com/Jeffail/tunny", "github.com/alitto/pond", "github.com/sourcegraph/conc"}

// Is reports whether the function starts goroutines for its callers, or is part of the code that
// they start.
func Is(function string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}
