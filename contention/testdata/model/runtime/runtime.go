// Package runtime has what words.go uses of package runtime.
package runtime

import "model/sched"

func Gosched() { sched.Yield() }
