package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

func (a *app) critical() *cobra.Command {
	var class string
	f := &analysis{kinds: []*artifact.Kind{artifact.Critical}}
	f.result = func(a artifact.Artifact) (any, error) { return choosePath(a.Value.(*critical.Profile), class) }
	c := a.command("critical [flags] [FILE | URL | -]", "show the critical paths of the program and its requests", `
Critical shows what determined how long the program took, and how long each
request, region (runtime/trace.StartRegion) and user task (trace.NewTask) took.

A critical path is followed backward from the end. While its goroutine ran, it
follows the goroutine; where that had waited, it continues with the goroutine
that ended the wait, at that moment. Waits for the network, timers and system
calls are outside of the program: the path continues with the same goroutine
before the wait. The pieces of a path sum to its elapsed time exactly. What is
not on the path is not worth optimizing: it had time.

The path of the whole program, [program], ends with the oldest goroutine that
runs at the end of the trace. Those of tasks are summed by class, such as the
handler of requests.`, f.run)
	f.define(c, output.CriticalForms, &measures.Critical)
	f.to.DefineTop("rows and classes", "10 rows and 6 classes in text, all in other forms")
	f.to.Only["top"] = []string{"text", "csv", "md", "html"}
	c.Flags().StringVar(&class, "class", "", "show only the path of the class `NAME`, such as main.handle or [program]")
	c.Example = `  bottleneck critical trace.out
  bottleneck critical -class main.handle trace.out
  bottleneck critical -fail 'path(main.handle).mean>20ms' trace.out
  bottleneck critical -o c.pb.gz trace.out && go tool pprof -http=: c.pb.gz`
	return a.reads(c)
}

// choosePath returns the profile with only one class, unless that is "".
func choosePath(p *critical.Profile, class string) (*critical.Profile, error) {
	if class == "" {
		return p, nil
	}
	out := *p
	out.Paths = slices.DeleteFunc(slices.Clone(p.Paths), func(path critical.Path) bool {
		return path.Class != class && format.Func(path.Class) != class
	})
	if len(out.Paths) > 0 {
		return &out, nil
	}
	var names []string
	for i := range p.Paths[:min(len(p.Paths), 8)] {
		names = append(names, format.Clean(p.Paths[i].Class))
	}
	return nil, fmt.Errorf("there is no path of class %q: the classes are %s", class, strings.Join(names, ", "))
}
