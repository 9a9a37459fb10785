package starter

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

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
	r := Role{Handles: passesOn[function] || isMethodHandler(function), Package: int32(len(symbol.Package(function))), Enclosing: int32(len(symbol.Enclosing(function)))}
	r.Adapter = r.Handles || symbol.IsWrapper(function, file) || strings.HasPrefix(function, "_cgoexp_") // cgo's, for an exported function
	r.Transparent = r.Adapter
	pkg := function[:r.Package]
	r.Foreign = strings.HasPrefix(function, "google.golang.org/grpc.") || strings.HasPrefix(function, "google.golang.org/grpc/internal/") ||
		isForeign(file) && (pkg != "main" || isInlined(function[r.Package:r.Enclosing]))
	if symbol.IsStandard(pkg) {
		r.Transparent = !strings.HasSuffix(file, "_test.go") // the library's own tests and benchmarks are the program
	} else if !r.Transparent {
		r.Transparent = Is(function)
	}
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
		for {
			next, passes := Callee(i, role)
			if !passes {
				return i
			}
			i = next
		}
	}
	if foreign >= 0 {
		return foreign
	}
	return n - 1
}

// Callee returns the frame that frame i calls, skipping frames that only pass a call on, or −1 if
// there is none in the program's own code. It also reports whether frame i passes on the call of a
// handler.
func Callee(i int, at func(i int) (function string, r Role)) (callee int, passes bool) {
	caller, _ := at(i)
	for i--; i >= 0; i-- {
		function, r := at(i)
		if r.Adapter {
			passes = passes || r.Handles
			continue
		}
		if r.Transparent {
			return -1, false
		}
		return i, passes || strings.HasSuffix(function, serveHTTP) && strings.HasSuffix(caller, serveHTTP)
	}
	return -1, false
}

// serveHTTP ends the names of net/http handlers.
const serveHTTP = ".ServeHTTP"

// isInlined reports whether the name of a declared function, without its package, is that of two
// functions. A function literal of a function that is inlined into another one has a name such as
// "main.run.Recover.func1" and the file of the first. A main package may be in the module cache,
// too.
func isInlined(name string) bool {
	return strings.Count(name[strings.LastIndexByte(name, ')')+1:], ".") > 1
}

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

// passesOn are net/http handlers that call another handler and do little else.
var passesOn = map[string]bool{
	"net/http.HandlerFunc.ServeHTTP":             true,
	"net/http.(*ServeMux).ServeHTTP":             true,
	"net/http.StripPrefix.func1":                 true,
	"net/http.MaxBytesHandler.func1":             true,
	"net/http.(*timeoutHandler).ServeHTTP.func1": true, // the goroutine that calls the handler
}

// isMethodHandler reports whether protoc-gen-go-grpc generated the function to call a method of a
// service, such as _Greeter_SayHello_Handler.
func isMethodHandler(fn string) bool {
	fn = symbol.Enclosing(fn)
	fn = fn[strings.LastIndexByte(fn, '.')+1:]
	return strings.HasPrefix(fn, "_") && strings.HasSuffix(fn, "_Handler")
}
