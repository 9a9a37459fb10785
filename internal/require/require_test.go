package require

import (
	"os"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Setenv("BOTTLENECK_REQUIRE_ALL", "")
	t.Run("skips", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("not skipped")
			}
		}()
		Program(t, "no such program")
		t.Error("goes on")
	})
	if exe, err := os.Executable(); err == nil && Program(t, exe) != exe {
		t.Error("not found")
	}
	t.Setenv("BOTTLENECK_REQUIRE_ALL", "1")
	f := &failing{TB: t}
	func() {
		defer func() { recover() }()
		Program(f, "no such program")
	}()
	if !f.failed {
		t.Error("does not fail")
	}
}

type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Fatal(...any) { f.failed = true; panic(f) }
