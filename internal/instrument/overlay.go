package instrument

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
)

//go:embed std
var std embed.FS

// An edit inserts a call into a file of the standard library. It keeps the number of lines, so that
// positions in messages and call chains stay right.
type edit struct {
	file string
	old  string // occurs once in the file
	new  string
}

// edits are those of all supported releases, in which these files are alike.
var edits = []edit{
	// A goroutine is counted as a waiter.
	{"internal/sync/mutex.go", "var waitStartTime int64", "var waitStartTime int64; var bottleneckStart bottleneckMark"},
	{"internal/sync/mutex.go", "\twaitStartTime = runtime_nanotime()\n",
		"\twaitStartTime = runtime_nanotime(); bottleneckStart = bottleneckArrive(m, waitStartTime)\n"},
	// It gets the lock, or another one does while it waits.
	{"internal/sync/mutex.go", "\t\t} else {\n\t\t\told = m.state\n\t\t}\n\t}\n",
		"\t\t} else {\n\t\t\told = m.state\n\t\t}\n\t}; if bottleneckStart.start != 0 || bottleneckLocks.Load() != 0 { bottleneckGot(m, bottleneckStart) }\n"},
	{"internal/sync/mutex.go", "old|mutexLocked) {\n\t\treturn false\n\t}\n",
		"old|mutexLocked) {\n\t\treturn false\n\t}; if old != 0 && bottleneckLocks.Load() != 0 { bottleneckGot(m, bottleneckMark{}) }\n"},
	// An owner leaves while goroutines wait. The defer statement keeps the depth of the call of
	// runtime_Semrelease, which leaves out as many calls as it may.
	{"internal/sync/mutex.go", "func (m *Mutex) unlockSlow(new int32) {",
		"func (m *Mutex) unlockSlow(new int32) { if bottleneckLocks.Load() != 0 { defer BottleneckLeft(m, bottleneckLeave(m, false)) }"},
	// An RWMutex, whose fast paths keep their size: a reader waits and leaves,
	{"sync/rwmutex.go", "runtime_SemacquireRWMutexR(&rw.readerSem, false, 0)", "rw.bottleneckRLock()"},
	{"sync/rwmutex.go", "\t// A writer is pending.\n", "\tdefer isync.BottleneckLeft(&rw.w.mu, isync.BottleneckReaderLeave(&rw.w.mu)) // A writer is pending.\n"},
	// and a writer.
	{"sync/rwmutex.go", "\t// Wait for active readers.\n",
		"\tvar start int64; if r != 0 { start = isync.BottleneckWriterArrive(&rw.w.mu) } // Wait for active readers.\n"},
	{"sync/rwmutex.go", "\t\truntime_SemacquireRWMutex(&rw.writerSem, false, 0)\n\t}\n",
		"\t\truntime_SemacquireRWMutex(&rw.writerSem, false, 0); isync.BottleneckWriterGot(&rw.w.mu, start, true)\n\t} else if r != 0 { isync.BottleneckWriterGot(&rw.w.mu, start, false) }\n"},
	{"sync/rwmutex.go", "\t// Unblock blocked readers, if any.\n",
		"\tvar hold isync.BottleneckExit; if r > 0 { hold = isync.BottleneckWriterLeave(&rw.w.mu) } // Unblock blocked readers, if any.\n"},
	{"sync/rwmutex.go", "\t// Allow other writers to proceed.\n\trw.w.Unlock()\n",
		"\t// Allow other writers to proceed.\n\trw.w.Unlock(); isync.BottleneckLeft(&rw.w.mu, hold)\n"},
	{"sync/rwmutex.go", "import (\n\t\"internal/race\"\n", "import (\n\t\"internal/race\"; isync \"internal/sync\"\n"},
	// The program takes a CPU profile of its own, and ends that.
	{"runtime/cpuprof.go", "\t\tcpuprof.on = true\n", "\t\tsetcpuprofilerate(0); cpuprof.on = true\n"},
	{"runtime/cpuprof.go", "\t\tcpuprof.log = nil\n", "\t\tcpuprof.log = nil; setcpuprofilerate(bottleneckHz)\n"},
	// The recording gets all of the trace, even if others trace, too.
	{"runtime/trace/subscribe.go", "\t\theader := runtime.ReadTrace()\n", "\t\theader := runtime.ReadTrace(); bottleneckWrite(header)\n"},
	{"runtime/trace/subscribe.go", "\t\t\tif data == nil {\n\t\t\t\tbreak\n\t\t\t}\n", "\t\t\tif data == nil {\n\t\t\t\tbreak\n\t\t\t}; bottleneckWrite(data)\n"},
	// The program ends.
	{"runtime/panic.go", "\tif traceEnabled() {\n\t\ttraceAdvance(false)\n",
		"\tif bottleneckPanic != nil { bottleneckPanic() }; if traceEnabled() {\n\t\ttraceAdvance(false)\n"},
	{"runtime/panic.go", "func fatal(s string) {\n",
		"func fatal(s string) { if gp := getg(); bottleneckPanic != nil && gp == gp.m.curg && gp.m.locks == 0 { bottleneckPanic() }\n"},
	// What it prints has no reader any more, and it does not handle that.
	{"runtime/signal_unix.go", "\tsystemstack(sigpipe)\n",
		"\tif bottleneckPanic != nil && !signal_ignored(_SIGPIPE) && atomic.Load(&sig.wanted[_SIGPIPE/32])&(1<<(_SIGPIPE&31)) == 0 { bottleneckPanic() }; systemstack(sigpipe)\n"},
	// Its process begins another program, which the timer of CPU samples would kill.
	{"runtime/proc.go", "\t// Prevent thread creation during exec.\n",
		"\tif bottleneckPanic != nil { bottleneckPanic() } // Prevent thread creation during exec.\n"},
	{"os/signal/signal.go", "\thandlers.Lock()\n\tdefer handlers.Unlock()\n\n\tfor c, h := range handlers.m {\n\t\tif h.want(n) {\n\t\t\t// send",
		"\tbottleneckEnds(sig, n); handlers.Lock()\n\tdefer handlers.Unlock()\n\n\tfor c, h := range handlers.m {\n\t\tif h.want(n) {\n\t\t\t// send"},
}

// added has the files of folder std that are added to packages of the standard library.
var added = map[string]string{
	"internal/sync/bottleneck.go": "sync.go.txt",
	"os/signal/bottleneck.go":     "signal.go.txt",
	"sync/bottleneck.go":          "rwmutex.go.txt",
	"runtime/bottleneck.go":       "runtime.go.txt",
	"runtime/trace/bottleneck.go": "trace.go.txt",
}

// mainFile is the file that is added to each main package.
const mainFile = "zz_bottleneck_record.go"

// library returns the replacements for the standard library in goroot. It keeps the new files in
// dir.
func library(goroot, dir string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range edits {
		if texts[e.file] == "" {
			b, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(e.file)))
			if err != nil {
				return nil, err
			}
			texts[e.file] = strings.ReplaceAll(string(b), "\r\n", "\n")
		}
		if strings.Count(texts[e.file], e.old) != 1 {
			return nil, fmt.Errorf("%s in %s is not that of a known release: want %q in it once", e.file, goroot, e.old)
		}
		texts[e.file] = strings.Replace(texts[e.file], e.old, e.new, 1)
	}
	for file, from := range added {
		b, err := std.ReadFile("std/" + from)
		if err != nil {
			return nil, err
		}
		texts[file] = string(b)
	}
	replace := map[string]string{}
	for file, text := range texts {
		at, err := keep(dir, strings.TrimSuffix(strings.ReplaceAll(file, "/", "_"), ".go")+"_%x.go", []byte(text))
		if err != nil {
			return nil, err
		}
		replace[filepath.Join(goroot, "src", filepath.FromSlash(file))] = at
	}
	return replace, nil
}

// keep writes a file of the cache, unless it has been kept before. Its name has a sum of the text, so
// that versions of this package, and commands at the same time, do not change each other's files.
func keep(dir, format string, text []byte) (name string, err error) {
	sum := sha256.Sum256(text)
	name = filepath.Join(dir, fmt.Sprintf(format, sum[:6]))
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		// For trim. The go command remembers the imports of a package until a file has
		// another time.
		if st, err := os.Stat(name); err == nil && time.Since(st.ModTime()) > 24*time.Hour {
			now := time.Now()
			os.Chtimes(name, now, now)
		}
		return name, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return name, atomicfile.Write(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// trim removes the files of the cache, in the directories for all toolchains, that no command has
// used for five days, as the go command trims its own cache.
func trim(cache string, now time.Time) {
	names, _ := filepath.Glob(filepath.Join(cache, "*", "*.*"))
	for _, name := range names {
		if st, err := os.Lstat(name); err == nil && st.Mode().IsRegular() && now.Sub(st.ModTime()) > 5*24*time.Hour {
			os.Remove(name)
		}
	}
}
