package bottleneck

import (
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

type alwaysPanicking struct{ timeline.Base }

func (alwaysPanicking) Begin(*timeline.Begin) { panic("always") }

func TestAnalysisEndsAfterTenPanics(t *testing.T) {
	before := afterPanic
	afterPanic = time.Nanosecond
	defer func() { afterPanic = before }()
	c := Hurry(NewContinuous(ContinuousOptions{Options: Options{Observers: []timeline.Observer{alwaysPanicking{}}}, Budget: -1}), time.Millisecond)
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer c.Stop()
	for deadline := time.Now().Add(time.Minute); c.Read().Panics < maxPanics || c.Enabled(); {
		if time.Now().After(deadline) {
			t.Fatalf("%d panics", c.Read().Panics)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond)
	if n := c.Read().Panics; n != maxPanics || c.Enabled() {
		t.Errorf("%d panics, enabled %v", n, c.Enabled())
	}
}
