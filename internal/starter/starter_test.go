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
		"github.com/bottleneck-go/bottleneck/internal/host.GroupTime":        true,
		"github.com/bottleneck-go/bottleneck/internal/monotime.Now":          true,
		"github.com/bottleneck-go/bottleneck/internal/causes.locked":         false,
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
	const handlerFunc, chained = "net/http.HandlerFunc.ServeHTTP", "google.golang.org/grpc.getChainUnaryHandler.func1"
	const gin, ginFile = "github.com/gin-gonic/gin", " /go/pkg/mod/github.com/gin-gonic/gin@v1.11.0/gin.go"
	const next = gin + ".(*Context).Next" + ginFile
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
		{"main.hello", []string{"main.query", "main.hello", handlerFunc, "net/http.StripPrefix.func1", handlerFunc, "net/http.(*ServeMux).ServeHTTP", "main.logged.func1", handlerFunc, "net/http.(*conn).serve"}},
		{"main.logged.func1", []string{"main.(*row).Scan", "database/sql.(*Rows).Scan", "main.logged.func1", handlerFunc, "net/http.(*conn).serve"}},
		{"main.hello", []string{"main.hello", handlerFunc, "main.(*router).route", "main.(*router).ServeHTTP", "net/http.(*conn).serve"}}, // the program's own router
		{"main.hello", []string{"main.query", "main.hello", handlerFunc, gin + "/mux.(*Router).ServeHTTP" + ginFile, handlerFunc, "main.logged.func1", handlerFunc, "net/http.(*conn).serve"}},
		{"main.hello", []string{"main.query", "main.hello", next, "main.auth", next, "main.logged", next, gin + ".(*Engine).ServeHTTP" + ginFile, "net/http.(*conn).serve"}},
		{"main.hello", []string{"main.hello", next, "main.logged", next, gin + ".(*Engine).ServeHTTP" + ginFile, "main.traced.func1", handlerFunc, "net/http.(*conn).serve"}},
		{"main.hello", []string{"main.hello", next, "example.com/cors.New.func1 /go/pkg/mod/example.com/cors@v1.0.0/cors.go", next, "main.logged", next, "net/http.(*conn).serve"}},
		{"main.stream", []string{"main.stream.func1", gin + ".(*Context).Stream" + ginFile, "main.stream", next, "net/http.(*conn).serve"}}, // its own literal
		{"main.hello", []string{"main.query", "main.T.MarshalJSON", "encoding/json.Marshal", gin + ".(*Context).JSON" + ginFile, "main.hello", next, "net/http.(*conn).serve"}},
		{"main.(*server).SayHello", []string{"main.(*server).SayHello", "example.com/pb._Greeter_SayHello_Handler.func1", chained, "main.auth", chained, "main.logged", "google.golang.org/grpc.chainUnaryInterceptors.func1"}},
		{"main.(*server).SayHello", []string{"main.clientLog", "google.golang.org/grpc.(*ClientConn).Invoke", "example.com/pb.(*client).Ask", "main.(*server).SayHello", "google.golang.org/grpc.(*Server).processUnaryRPC"}},
		{"main.hello", []string{"main.query", "main.hello", gin + ".(*Router).ServeHTTP" + ginFile, "main.logged.func1", handlerFunc, "net/http.(*conn).serve"}},
		{"main.hello", []string{"main.hello", handlerFunc, "main.run.MaxBytesHandler.func1 /usr/local/go/src/net/http/server.go", handlerFunc, "main.auth.ServeHTTP", "net/http.(*conn).serve"}}, // inlined
		{"main.hello", []string{"main.T.MarshalJSON", "encoding/json.Marshal", gin + "/render.JSON.Render" + ginFile, gin + ".(*Context).Render" + ginFile, "main.hello", next, "net/http.(*conn).serve"}},
		{"p.BenchmarkMux", []string{"p.hello", handlerFunc, "p.BenchmarkMux", "testing.(*B).runN", "testing.(*B).run1.func1"}},
		{"main.parse", []string{"main.leaf", "main.parse", ants, ants}},
		{"main.task", []string{"main.task", "github.com/alitto/pond/v2.bottleneckFunc00.func1 /src/pond/bottleneck.go"}},
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
