package symbol

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestNamesAreUnescaped: names are those of the source.
func TestNamesAreUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		"github.com/nats-io/nats%2ego.(*Conn).readLoop": "github.com/nats-io/nats.go.(*Conn).readLoop",
		"gopkg.in/yaml%2ev3.Unmarshal":                  "gopkg.in/yaml.v3.Unmarshal",
		"example.com/%c3%a9t%c3%a9.Run":                 "example.com/été.Run",
		"main.main":                                     "main.main",
		"100%":                                          "100%",
		"a%2":                                           "a%2",
		"a%zz.f":                                        "a%zz.f",
		"a%2e":                                          "a.",
		"":                                              "",
	} {
		if got := Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPackage(t *testing.T) {
	for in, want := range map[string]string{
		"main.main": "main", "net/http.(*conn).serve": "net/http", "main.(*T).run.func1": "main", "main.T.run": "main",
		"github.com/nats-io/nats.go.(*Conn).readLoop": "github.com/nats-io/nats.go", "github.com/nats-io/nats.go.Connect": "github.com/nats-io/nats.go",
		"gopkg.in/yaml.v3.Unmarshal": "gopkg.in/yaml.v3", "gopkg.in/yaml.v3.Node.Decode": "gopkg.in/yaml.v3", "example.com/q/v2.Run[...].func1": "example.com/q/v2",
		"main.Map[go.shape.int,a.com/b.T].Get": "main", "main.v2": "main", "": "", "nothing": "",
	} {
		if got := Package(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestStandard: the list has every package of the distribution that runs these tests.
func TestStandard(t *testing.T) {
	//lint:ignore SA1019 the test runs where it was built, and skips elsewhere
	dirs, err := os.ReadDir(filepath.Join(runtime.GOROOT(), "src"))
	if err != nil {
		t.Skip("the source of the standard library is not here:", err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "cmd" && d.Name() != "testdata" && !IsStandard(d.Name()) {
			t.Errorf("%s is not in the list", d.Name())
		}
	}
	for _, path := range []string{"main", "cmd/compile/internal/gc", "work", "example.com/net", "golang.org/x/sync/errgroup", "runtimes", ""} {
		if IsStandard(path) {
			t.Errorf("%q is no package of the standard library", path)
		}
	}
}

func TestIsProgram(t *testing.T) {
	for _, tt := range []struct {
		function, file string
		want           bool
	}{
		{"main.load", "/src/main.go", true},
		{"sync.(*Once).Do", "/usr/local/go/src/sync/once.go", false},
		{"net/http_test.get", "/usr/local/go/src/net/http/serve_test.go", true},
		{"main.init.OnceValue[...].func3.1", "/usr/local/go/src/sync/oncefunc.go", false},
		{"main.(*T).load.OnceFunc.func1", "sync/oncefunc.go", false},
		{"memeqbody", "/usr/local/go/src/internal/bytealg/equal_amd64.s", false},
		{"spin", "/home/me/m/spin.c", true},
		{"main.load.each.func1", "/home/me/src/example.com/m/main.go", true},
		{"main.load.each.func1", "/home/me/m/main.go", true},
		{"main.load.each.func1", "main.go", true},
		{"main.load.func1", "/home/me/src/sync/main.go", true},
		{"example.com/m/internal/cache.load.each.func1", "/src/internal/cache/cache.go", true},
		{"example.com/m/internal/cache.load.OnceFunc.func1", "/usr/local/go/src/sync/oncefunc.go", false},
	} {
		if got := IsProgram(tt.function, tt.file); got != tt.want {
			t.Errorf("%s in %s: got %v", tt.function, tt.file, got)
		}
	}
}

// TestForms: the names and files that the go command gives to the same kinds of functions in
// different builds.
func TestForms(t *testing.T) {
	const goroot, cache = "/usr/local/go/src/", "/root/go/pkg/mod/"
	for _, tt := range []struct {
		what, function, file string
		pkg, enclosing       string
		program, wrapper     bool
	}{
		{"a function", "main.run", "/home/me/m/main.go", "main", "main.run", true, false},
		{"-trimpath", "main.run", "example.com/m/main.go", "main", "main.run", true, false},
		{"go run of a file", "main.run", "/tmp/x.go", "main", "main.run", true, false},
		{"go run of a file, -trimpath", "main.run", "./x.go", "main", "main.run", true, false},
		{"a test of one file", "command-line-arguments.TestX", "/tmp/x_test.go", "command-line-arguments", "command-line-arguments.TestX", true, false},
		{"vendored", "github.com/x/y.(*T).Run", "/home/me/m/vendor/github.com/x/y/y.go", "github.com/x/y", "github.com/x/y.(*T).Run", true, false},
		{"vendored by GOPATH", "example.com/m/vendor/github.com/x/y.Run.func1", "/go/src/example.com/m/vendor/github.com/x/y/y.go", "example.com/m/vendor/github.com/x/y", "example.com/m/vendor/github.com/x/y.Run", true, false},
		{"vendored by the standard library", "vendor/golang.org/x/net/http2/hpack.NewEncoder", goroot + "vendor/golang.org/x/net/http2/hpack/encode.go", "vendor/golang.org/x/net/http2/hpack", "vendor/golang.org/x/net/http2/hpack.NewEncoder", false, false},
		{"a directory named src", "main.run.each.func1", "/src/main.go", "main", "main.run.each", true, false},
		{"and internal/std", "main.run.each.func1", "/home/me/src/internal/std/main.go", "main", "main.run.each", true, false},
		{"a package internal/std", "example.com/m/internal/std.run.each.func1", "/home/me/src/internal/std/x.go", "example.com/m/internal/std", "example.com/m/internal/std.run.each", true, false},
		{"a literal in a method that is inlined", "main.run.(*Map).Range.func1", goroot + "sync/map.go", "main", "main.run.(*Map).Range", false, false},
		{"inlined into a generic method", "main.(*T[...]).run.OnceFunc.func1", goroot + "sync/oncefunc.go", "main", "main.(*T[...]).run.OnceFunc", false, false},
		{"inlined into a generic function", "main.run[...].OnceFunc.func1", cache + "golang.org/toolchain@v0.0.1-go1.27.4.linux-amd64/src/sync/oncefunc.go", "main", "main.run[...].OnceFunc", false, false},
		{"a literal in a method with a value receiver", "main.T.run.func1", "/home/me/m/x.go", "main", "main.T.run", true, false},
		{"a method", "main.(*T).run-fm", "/home/me/m/main.go", "main", "main.(*T).run", true, true},
		{"a method of an embedded type", "main.(*T).Lock", "<autogenerated>", "main", "main.(*T).Lock", true, true},
		{"generic", "example.com/m/q/v2.Run[...]", cache + "example.com/m/q/v2@v2.1.0/q.go", "example.com/m/q/v2", "example.com/m/q/v2.Run[...]", true, false},
		{"a literal in a generic method", "main.(*T[...]).run.func1.2", "x.go", "main", "main.(*T[...]).run", true, false},
		{"a go statement in a generic function", "main.run[...].gowrap1", "x.go", "main", "main.run[...]", true, true},
		{"type arguments with paths", "main.run[go.shape.int,a.com/b.T].func1", "x.go", "main", "main.run[go.shape.int,a.com/b.T]", true, false},
		{"a range over a function", "main.run-range1", "x.go", "main", "main.run", true, false},
		{"one in another", "main.run-range1-range2", "x.go", "main", "main.run", true, false},
		{"one in a literal", "main.(*T).run.func1-range2.func3", "x.go", "main", "main.(*T).run", true, false},
		{"a literal in a function named _", "main.glob..func1", "x.go", "main", "main.glob.", true, false},
		{"init", "main.init.0", "x.go", "main", "main.init", true, false},
		{"a literal in init", "example.com/m/x.init.1.func2", "x.go", "example.com/m/x", "example.com/m/x.init", true, false},
		{"the initialization of a map", "main.map.init.0", "x.go", "main", "main.map.init", true, false},
		{"a deferred call", "main.run.func1.deferwrap2", "x.go", "main", "main.run", true, true},
		{"a call of C", "main._Cfunc_work", "_cgo_gotypes.go", "main", "main._Cfunc_work", true, false},
		{"a call from C", "_cgoexp_7607939f7577_onEvent", "_cgo_gotypes.go", "", "_cgoexp_7607939f7577_onEvent", true, false},
		{"a plugin of files", "plugin/unnamed-24b7ed3d0cb6.Run.func1", "/tmp/p.go", "plugin/unnamed-24b7ed3d0cb6", "plugin/unnamed-24b7ed3d0cb6.Run", true, false},
		{"package plugin", "plugin.open", goroot + "plugin/plugin_dlopen.go", "plugin", "plugin.open", false, false},
		{"generated by protoc", "example.com/m/pb._Greeter_SayHello_Handler.func1", "/home/me/m/pb/x_grpc.pb.go", "example.com/m/pb", "example.com/m/pb._Greeter_SayHello_Handler", true, false},
		{"generated, with a line directive", "main.(*parser).Parse", "expr.y", "main", "main.(*parser).Parse", true, false},
		{"a path without a dot", "app/internal/x.Run", "/home/me/app/internal/x/x.go", "app/internal/x", "app/internal/x.Run", true, false},
		{"the command", "cmd/compile/internal/gc.Main", goroot + "cmd/compile/internal/gc/main.go", "cmd/compile/internal/gc", "cmd/compile/internal/gc.Main", true, false},
	} {
		if got := Package(tt.function); got != tt.pkg {
			t.Errorf("%s: package %q, want %q", tt.what, got, tt.pkg)
		}
		if got := Enclosing(tt.function); got != tt.enclosing {
			t.Errorf("%s: enclosing function %q, want %q", tt.what, got, tt.enclosing)
		}
		if got := IsProgram(tt.function, tt.file); got != tt.program {
			t.Errorf("%s: of the program: %v", tt.what, got)
		}
		if got := IsWrapper(tt.function, tt.file); got != tt.wrapper {
			t.Errorf("%s: a wrapper: %v", tt.what, got)
		}
	}
}

func TestIsWrapper(t *testing.T) {
	for in, want := range map[string]bool{
		"main.f.gowrap1": true, "main.f.func1.gowrap12": true, "main.f.deferwrap2": true, "main.(*T).f-fm": true, "main.worker[...].gowrap1": true,
		"main.f": false, "main.gowrapper": false, "main.f.gowrap": false, "main.f.gowrap1x": false, "main.f.gowrap1.func2": false, "": false,
		"github.com/panjf2000/ants/v2.bottleneckTask[...]": true, "github.com/sourcegraph/conc/stream.bottleneckFunc01[...].func1": true, "main.bottleneckFinder": false, "main.bottleneckTasks": false,
	} {
		if got := IsWrapper(in, "x.go"); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
	if !IsWrapper("main.(*T).Run", "<autogenerated>") {
		t.Error("a generated method is a wrapper")
	}
}

func TestEnclosing(t *testing.T) {
	for in, want := range map[string]string{
		"main.run": "main.run", "main.run.func1": "main.run", "main.run.func1.2": "main.run", "main.(*T).run.func1.gowrap3": "main.(*T).run", "main.run-fm": "main.run",
		"main.run.func1-range2": "main.run", "main.init.0.func1": "main.init", "main.Map[...].func1": "main.Map[...]", "main.funcs": "main.funcs", "main.run.deferwrap1": "main.run", "": "",
	} {
		if got := Enclosing(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestReceiver(t *testing.T) {
	for function, want := range map[string]string{
		"example.com/m/pkg.(*Cache).Get":         "example.com/m/pkg.Cache",
		"example.com/m/pkg.(*Cache).Get.func1.2": "example.com/m/pkg.Cache",
		"example.com/m/pkg.Cache.Get":            "example.com/m/pkg.Cache",
		"pkg.(*Map[...]).Load":                   "pkg.Map",
		"gopkg.in/yaml.v3.(*Node).Decode":        "gopkg.in/yaml.v3.Node",
		"main.main":                              "main.main",
		"main.main.func1":                        "main.main",
		"main.generic[...].func1":                "main.generic",
		"example.com/m/pkg.(*Cache).Get-fm":      "example.com/m/pkg.Cache",
		"[call chains dropped]":                  "[call chains dropped]",
		"":                                       "",
	} {
		if got := Receiver(function); got != want {
			t.Errorf("Receiver(%q) = %q, want %q", function, got, want)
		}
	}
}
