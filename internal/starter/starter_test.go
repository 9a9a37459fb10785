package starter

import (
	"strings"
	"testing"
)

func TestIsStarter(t *testing.T) {
	for fn, want := range map[string]bool{
		"sync.(*WaitGroup).Go.func1":                                         true,
		"golang.org/x/sync/errgroup.(*Group).Go.func1":                       true,
		"golang.org/x/sync/errgroup.(*Group).TryGo.func1":                    true,
		"github.com/sourcegraph/conc.(*WaitGroup).Go.func1.1":                true,
		"github.com/bottleneck-go/bottleneck/granularity.(*Pool).work":       true,
		"github.com/bottleneck-go/bottleneck/internal/cycles.(*Clock).Start": true,
		"github.com/bottleneck-go/bottleneck/internal/perfevent.OpenThread":  true,
		"golang.org/x/sys/unix.PerfEventOpen":                                true,
		"runtime.corostart":                                                  true,
		"sync.(*WaitGroup).Wait":                                             false,
		"main.(*WaitGroup).Go":                                               false,
		"":                                                                   false,
	} {
		if got := Is(fn); got != want {
			t.Errorf("Is(%q) = %v", fn, got)
		}
	}
}

// TestIsForeign: where the files of other modules are.
func TestIsForeign(t *testing.T) {
	for file, want := range map[string]bool{
		"/root/go/pkg/mod/github.com/panjf2000/ants/v2@v2.12.1/worker.go": true, "github.com/panjf2000/ants/v2@v2.12.1/worker.go": true,
		"/root/go/pkg/mod/golang.org/x/net@v0.0.0-20230530153820-e85fd2cbaebc/http2/frame.go": true, "/home/x/vendor/gopkg.in/yaml.v3/decode.go": true,
		"/home/x/app@v/main.go": false, "/home/x/app@v2/main.go": false, "/home/x/main.go": false, "x.go": false, "": false,
	} {
		if got := isForeign(file); got != want {
			t.Errorf("%q: %v", file, got)
		}
	}
}

// TestNameOfOneCallChain: the name of a goroutine with one known call chain.
func TestNameOfOneCallChain(t *testing.T) {
	const ants = "github.com/panjf2000/ants/v2.(*goWorker).run.func1 /go/pkg/mod/github.com/panjf2000/ants/v2@v2.12.1/worker.go"
	for _, tt := range []struct {
		want  string
		chain []string // leaf first
	}{
		{"main.work", []string{"sync.(*Mutex).Lock", "main.work"}},
		{"main.main", []string{"sync.(*Mutex).Lock", "main.work", "main.main", "runtime.main", "runtime.goexit"}},
		{"main.fetch", []string{"main.fetch", "golang.org/x/sync/errgroup.(*Group).Go.func1"}},
		{"main.parse", []string{"main.leaf", "main.parse", "sync.(*Once).Do", ants}},
		{"github.com/panjf2000/ants/v2.(*goWorker).run.func1", []string{"runtime.chanrecv2", ants, "sync.(*WaitGroup).Go.func1"}},
		{"main.hello", []string{"main.query", "main.hello", "net/http.HandlerFunc.ServeHTTP", "main.logged.func1", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve"}},
		{"main.page.ServeHTTP", []string{"main.page.ServeHTTP", "main.auth.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"}},
		{"main.onEvent", []string{"main.onEvent", "_cgoexp_7607939f7577_onEvent", "runtime.cgocallback"}},
		{"net/http.(*persistConn).writeLoop", []string{"runtime.selectgo", "net/http.(*persistConn).writeLoop", "runtime.goexit"}},
	} {
		i := Name(len(tt.chain), func(i int) (string, string) {
			function, file, _ := strings.Cut(tt.chain[i], " ")
			return function, file
		})
		if got, _, _ := strings.Cut(tt.chain[i], " "); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.chain, got, tt.want)
		}
	}
}
