//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// The methods that package sync has inlined are inlined here, too: a call for each is 10 % of a look into a map under RLock.
func TestFastPathsAreInlined(t *testing.T) {
	goTool := require.Program(t, "go")
	out, err := exec.CommandContext(t.Context(), goTool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, method := range []string{"(*Mutex).Lock", "(*Mutex).Unlock", "(*RWMutex).RLock", "(*RWMutex).RUnlock"} {
		if !strings.Contains(string(out), ": can inline "+method+"\n") {
			t.Errorf("%s is not inlined", method)
		}
	}
}
