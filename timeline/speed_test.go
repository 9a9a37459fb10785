package timeline

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

type cnt struct {
	Base
	n   int
	run [8]Time
}

func (c *cnt) Transition(t *Transition) { c.n++; c.run[t.State] += t.End - t.Start }
func TestSpeed(t *testing.T) {
	f := os.Getenv("TR")
	for _, w := range []int{1, 2, 2} {
		c := &cnt{}
		t0 := time.Now()
		info, err := ReadFile(context.Background(), f, Options{Workers: w}, c)
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		fmt.Println(w, time.Since(t0), err, info.Events, info.Generations, info.Duration(), c.n, c.run, "inc", info.Inconsistent, "reord", info.Reordered, "live", info.MaxLive, "sys", ms.Sys>>20)
	}
}
