package full

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// Names are those of package timeline.
func TestGroupOfCalls(t *testing.T) {
	t.Parallel()
	sample := func(calls ...string) *profile.Sample { // leaf first
		s := &profile.Sample{}
		for _, c := range calls {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: c}}}})
		}
		return s
	}
	for want, s := range map[string]*profile.Sample{
		"main.main":                  sample("runtime.gopark", "main.main", "runtime.main", "runtime.goexit"),
		"runtime.main":               sample("runtime.gopark", "runtime.main"),
		"main.index":                 sample("runtime.gopark", "main.step", "main.index", "sync.(*WaitGroup).Go.func1"),
		"main.handle":                sample("time.Sleep", "main.handle", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve"),
		"main.(*T).Do":               sample("time.Sleep", "main.(*T).Do", "main.run.gowrap1"),
		"sync.(*WaitGroup).Go.func1": sample("sync.(*WaitGroup).Done", "sync.(*WaitGroup).Go.func1"),
		"(unnamed)":                  sample(),
		"(unknown: deep call chain)": sample(strings.Split(strings.Repeat("main.f ", 32), " ")...),
	} {
		if got := groupOf(s); got != want {
			t.Errorf("%v: %s, want %s", callsOf(s), got, want)
		}
	}
}
