package series

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Build says what runs, so that series of a fleet can be compared by version.
type Build struct {
	// Version is that of the program's module, or what the program calls itself; Revision the
	// commit that it was built from; Bottleneck the version of this module; "" where the
	// program does not tell.
	Version, Revision, GoVersion, Bottleneck string
}

// theBuild is what the program tells of itself.
var theBuild = sync.OnceValue(func() Build {
	b := Build{GoVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	const module = "github.com/bottleneck-go/bottleneck"
	b.Version = info.Main.Version
	if info.Main.Path == module {
		b.Bottleneck = info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			b.Bottleneck = d.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
})
