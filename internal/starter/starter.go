// Package starter lists the library functions that start goroutines for their callers. Every
// goroutine of sync.(*WaitGroup).Go begins in sync.(*WaitGroup).Go.func1, a name that does not
// identify its work.
package starter

import (
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

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
	"github.com/bottleneck-go/bottleneck/internal/host.", // by its first task
	"github.com/bottleneck-go/bottleneck/internal/schedstat.",
	"github.com/bottleneck-go/bottleneck/internal/lazy.",
	"github.com/bottleneck-go/bottleneck/internal/monotime.",
	"golang.org/x/sys/", // called by those
}

// Pools are the modules, without major version, whose pools of goroutines run tasks that package
// instrument marks in a trace: as regions of a user task of this name.
var Pools = []string{"github.com/panjf2000/ants", "github.com/Jeffail/tunny", "github.com/alitto/pond", "github.com/sourcegraph/conc"}

// Is reports whether the function starts goroutines for its callers, or is part of the code that
// they start.
func Is(function string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(function, p) })
}

// Role is the role of a function and its file in a call chain that names a goroutine.
type Role struct {
	// Adapter: it only passes a call on. Handles: it is an Adapter for handlers of net/http or
	// gRPC.
	Adapter, Handles bool
	// Transparent: it does not name goroutines, because it is an adapter, belongs to the
	// standard library, or starts goroutines for others.
	Transparent bool
	// Foreign: it belongs to a module other than the program's.
	Foreign bool
	// Package and Enclosing are the lengths of the import path and of the name of the declared
	// function.
	Package, Enclosing int32
}

// RoleOf returns the role of a function. It scans the names character by character, so cache the
// result.
func RoleOf(function, file string) Role {
	r := Role{Package: int32(len(symbol.Package(function))), Enclosing: int32(len(symbol.Enclosing(function)))}
	pkg, enclosing := function[:r.Package], function[:r.Enclosing]
	r.Handles = pkg == "net/http" && strings.HasSuffix(enclosing, serveHTTP) || isMethodHandler(enclosing)
	r.Adapter = r.Handles || symbol.IsWrapper(function, file) || strings.HasPrefix(function, "_cgoexp_") // cgo's, for an exported function
	program := symbol.IsProgram(function, file)
	r.Transparent = r.Adapter || !program || Is(function)
	r.Foreign = program && (strings.HasPrefix(function, "google.golang.org/grpc.") || strings.HasPrefix(function, "google.golang.org/grpc/internal/") ||
		isForeign(file) && (pkg != "main" || symbol.IsInlined(function))) // a main package may be in the module cache, too
	return r
}

// Name returns the index of the frame that names the goroutine of a call chain of n frames, leaf
// first. It uses one call chain only: the result is the outermost frame in the program's own code,
// else the outermost in another module, else the root. A handler that calls the next one is
// middleware and names no goroutine. Package timeline, which sees all call chains, recognizes more
// launchers.
func Name(n int, at func(i int) (function, file string)) int {
	role := func(i int) (string, Role) {
		function, file := at(i)
		return function, RoleOf(function, file)
	}
	for n > 1 {
		if root, _ := at(n - 1); root != "runtime.goexit" {
			break
		}
		n--
	}
	foreign := -1
	for i := n - 1; i >= 0; i-- {
		_, r := role(i)
		switch {
		case r.Transparent:
			continue
		case r.Foreign:
			if foreign < 0 {
				foreign = i
			}
			continue
		}
		for next := i; next >= 0; next = Next(n, i, role) {
			i = next
		}
		return i
	}
	if foreign >= 0 {
		return foreign
	}
	return n - 1
}

// Callee returns the frame that frame i calls, without frames that only pass a call on, or −1 if
// that is none, or one of the standard library or of a function that starts goroutines for others.
func Callee(i int, at func(i int) (function string, r Role)) int {
	for i--; i >= 0; i-- {
		if _, r := at(i); r.Transparent && !r.Adapter {
			return -1
		} else if !r.Adapter {
			return i
		}
	}
	return -1
}

// Next returns the frame of the handler to which frame i of n passes a request on, as middleware
// does, or −1. That is a function that net/http or the generated code of gRPC calls as a handler, a
// ServeHTTP, or, if a library called frame i or has it, a function that is called when frame i calls
// that library again or a function literal of one.
func Next(n, i int, at func(i int) (function string, r Role)) int {
	from, own := at(i)
	inside := own.Foreign // of libraries
	var library string
	for k := i + 1; k < n; k++ {
		if caller, r := at(k); !r.Adapter {
			if IsTester(caller) {
				return -1
			}
			if r.Foreign {
				library = caller[:r.Package]
			}
			break
		}
	}
	handles, direct := false, true
	for i--; i >= 0; i-- {
		function, r := at(i)
		literal := int(r.Enclosing) < len(function)
		switch {
		case r.Adapter:
			handles = handles || r.Handles
			continue
		case handles && r.Transparent && literal:
			continue // such as net/http.StripPrefix.func1
		case r.Transparent:
			return -1
		case handles, strings.HasSuffix(function, serveHTTP):
			return i
		case r.Foreign:
			inside = inside || direct && library != "" && (literal || function[:r.Package] == library)
		case inside && !strings.HasPrefix(function, from+"."):
			return i
		default:
			inside = false
		}
		direct = false
	}
	return -1
}

// IsTester reports whether a function calls benchmarks and tests, which name their goroutines
// whatever they call.
func IsTester(function string) bool { return strings.HasPrefix(function, "testing.") }

// serveHTTP ends the names of net/http handlers.
const serveHTTP = ".ServeHTTP"

// isForeign reports whether a file is in the module cache ("/pkg/mod/example.com/q@v1.2.3/q.go",
// also without the prefix, as with -trimpath) or in a directory of vendored modules.
func isForeign(file string) bool {
	if strings.Contains(file, "/vendor/") {
		return true
	}
	for {
		i := strings.Index(file, "@v")
		if i < 0 {
			return false
		}
		file = file[i+2:]
		if major := strings.TrimLeft(file, "0123456789"); major != file && strings.HasPrefix(major, ".") {
			return true
		}
	}
}

// isMethodHandler reports whether protoc-gen-go-grpc generated the function to call a method of a
// service, such as _Greeter_SayHello_Handler.
func isMethodHandler(fn string) bool {
	fn = fn[strings.LastIndexByte(fn, '.')+1:]
	return strings.HasPrefix(fn, "_") && strings.HasSuffix(fn, "_Handler")
}
