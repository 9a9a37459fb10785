// Package instrument builds programs that record themselves, without a change in their source:
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/instrument"
//	)
//
//	func main() {
//		cmd, err := instrument.Options{}.Command(context.Background(), "go", "test", "./...")
//		if err != nil {
//			log.Fatal(err)
//		}
//		cmd.Env = append(cmd.Env, instrument.Variable+"="+os.TempDir())
//		if err := cmd.Run(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The go command gets an overlay of a few files of the standard library. Packages sync and
// internal/sync log in the execution trace who holds a Mutex or RWMutex while others wait for it:
// any of the program, of its dependencies and of the standard library. Package runtime/trace records
// that trace with CPU samples from before main to the end of the program, also if a panic or a
// signal ends it. The packages of known pools of goroutines mark each task in the trace: for them the
// go command runs the compiler through the calling program.
//
// Nothing is written below the program's directory or the module cache. The changed files are kept
// below [os.UserCacheDir] until no command has used them for five days.
//
// Cost: the fast paths of locks are those of the standard library. A wait takes some microseconds
// more, for at most 5 % of the time of a processor; docs/instrument.md has measurements.
package instrument
