package timeline

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Site returns the place in the program's own code at which a call chain left it: the innermost
// frame that belongs neither to the standard library nor to golang.org/x/sync, what cgo generates,
// or the wrappers of this module. Where there is none, as in a connection of net/http, it is the
// innermost one outside the packages through which all waits go, or of the launcher; and in a
// goroutine of the runtime, the leaf. It returns nil for a nil Stack.
func (s *Stack) Site() *Frame {
	if s == nil {
		return nil
	}
	return s.site
}

func siteOf(frames []*Frame) *Frame {
	for _, f := range frames {
		if symbol.IsProgram(f.Func, f.File) && !entersC(f.Func) && !starter.Is(f.Func) && !strings.HasPrefix(f.Func, wrappers) && !strings.HasPrefix(f.Func, "golang.org/x/sync/") {
			return f
		}
	}
	for _, f := range frames {
		if p := symbol.Package(f.Func); !waitsInside(p) && !entersC(f.Func) && !starter.Is(f.Func) {
			return f
		}
	}
	for _, f := range frames { // what a launcher does by itself, such as a worker that waits for tasks
		if symbol.IsProgram(f.Func, f.File) {
			return f
		}
	}
	return frames[0]
}

// waitsInside reports whether goroutines of all sorts wait inside a package of the standard
// library.
func waitsInside(pkg string) bool {
	switch first, _, _ := strings.Cut(pkg, "/"); first {
	case "runtime", "internal", "sync", "syscall", "time":
		return true
	}
	return pkg == "net" || pkg == "io" || pkg == "bufio"
}

// wrappers begins the names of the methods of the locks of this module.
const wrappers = "github.com/bottleneck-go/bottleneck/contention.(*"
