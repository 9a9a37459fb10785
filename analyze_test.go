package bottleneck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func Example() {
	f, err := os.Open("testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	report, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict.Findings[0].Title)
	fmt.Println("it waits for a", report.Contention.Waits[0].Kind)
	// Output:
	// The lock work.mutexWorker kept 39% of the capacity idle (293 waits, blocked for 2.3 s in all).
	// it waits for a mutex
}

// TestAnalyze holds the report of one pass against each analysis by itself.
func TestAnalyze(t *testing.T) {
	data, err := os.ReadFile("testdata/small/phases-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	report, err := bottleneck.Analyze(ctx, bytes.NewReader(data), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := bottle.ReadTrace(ctx, bytes.NewReader(data), bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := contention.ReadTrace(ctx, bytes.NewReader(data), contention.TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Bottle.Verdict == nil || report.Bottle.Verdict != report.Verdict {
		t.Errorf("the graph's verdict is %p, and that of the report %p", report.Bottle.Verdict, report.Verdict)
	}
	g.Verdict = report.Verdict // which needs more than the graph
	if got, want := asJSON(t, report.Bottle), asJSON(t, g); got != want {
		t.Errorf("graph of the report:\n%s\nby itself:\n%s", got, want)
	}
	tasks, err := granularity.ReadTrace(ctx, bytes.NewReader(data), granularity.TraceOptions{})
	if err != nil || len(report.Tasks.Classes) != len(tasks.Classes) || report.Tasks.Wall != tasks.Wall {
		t.Errorf("%d classes of tasks in %v, by themselves %d in %v, %v", len(report.Tasks.Classes), report.Tasks.Wall, len(tasks.Classes), tasks.Wall, err)
	}
	stack, err := speedup.Estimate(ctx, bytes.NewReader(data), speedup.Options{})
	if err != nil || report.SpeedupErr != nil || report.Speedup.Speedup != stack.Speedup || report.Speedup.Workers != stack.Workers || len(report.Speedup.Warnings) != len(stack.Warnings) {
		t.Errorf("speedup %+v, %v; by itself %+v, %v", report.Speedup, report.SpeedupErr, stack, err)
	}
	if len(report.Contention.Waits) != len(p.Waits) || len(p.Waits) == 0 {
		t.Errorf("%d rows of waits in the report, %d by themselves", len(report.Contention.Waits), len(p.Waits))
	}
}

func asJSON(t *testing.T, g *bottle.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := bottle.WriteJSON(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnalyzeBroken(t *testing.T) {
	report, err := bottleneck.Analyze(context.Background(), bytes.NewReader(nil), bottleneck.Options{Name: "none"})
	var te *timeline.Error
	if report != nil || !errors.As(err, &te) || te.Name != "none" {
		t.Errorf("nothing to read: report %v, error %v", report, err)
	}
}
