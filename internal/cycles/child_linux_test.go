package cycles

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// threadNS reads the calling thread's CPU clock.
func threadNS() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return ts.Nano()
}

// childMain is the work of a test's child process: it restricts itself, opens a clock and prints
// its source.
func childMain(child string) {
	switch child {
	case "open":
	case "seccomp":
		deny := []uint32{unix.SYS_PERF_EVENT_OPEN, unix.SYS_RSEQ}
		if libcThreads {
			deny = deny[:1] // glibc aborts when it cannot register a new thread
		}
		if err := denySyscalls(refuse, deny...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	case "fatal":
		if err := denySyscalls(unix.SECCOMP_RET_KILL_PROCESS, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	if child == "fatal" {
		var threads sync.WaitGroup
		for range 8 { // readings on threads of their own
			threads.Add(1)
			go func() {
				defer threads.Done()
				runtime.LockOSThread()
				c := Default()
				from := c.Start()
				busy(10_000)
				c.Stop(from.Thread)
			}()
		}
		threads.Wait()
	}
	// The choice, and whether measurements with it make sense; not every one, because other
	// programs may have the processor for long.
	c := Default()
	runtime.LockOSThread()
	sound := false
	for range 5 {
		from := c.Start()
		busy(1_000_000)
		to := c.Stop(from.Thread)
		count, wall, ok := c.elapsed(&from, &to)
		sound = sound || ok && count > wall/20 && count <= wall+wall/10
	}
	json.NewEncoder(os.Stdout).Encode(report{c.Info(), sound})
}

type report struct {
	Info  Info
	Sound bool
}

// refuse makes a system call fail with EPERM.
const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// denySyscalls makes the kernel do the action in place of the system calls, in all threads from now
// on.
func denySyscalls(action uint32, numbers ...uint32) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for i, n := range numbers {
		filter = append(filter, unix.SockFilter{
			Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: n, Jt: uint8(len(numbers) - i)})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// openInChild runs the test program, or another one, in a child process that opens a clock.
func openInChild(t *testing.T, program, child string, credential *syscall.Credential) report {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "CYCLES_TEST_CHILD="+child)
	cmd.Stderr = os.Stderr
	if credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("child printed %q: %v", out, err)
	}
	t.Log(r.Info)
	for _, why := range r.Info.Refused {
		t.Log("refused:", why)
	}
	if !r.Sound {
		t.Error("the child's clock counted nonsense over 1 ms of spinning")
	}
	return r
}

func TestLabelsUnderSeccomp(t *testing.T) {
	got := openInChild(t, os.Args[0], "seccomp", nil).Info
	if libcThreads && runtime.GOARCH == "amd64" && haveTSC && glibcRegisters() {
		if got.Source != RseqClock || got.Accuracy != ThreadTime || len(got.Refused) != 2 {
			t.Errorf("without perf events: %s, %s, refused %q; want the area that glibc has registered", got.Source, got.Accuracy, got.Refused)
		}
		return
	}
	if got.Source != ThreadClock || got.Accuracy != ThreadTime {
		t.Errorf("without perf events and rseq: %s, %s; want thread-clock, thread-time", got.Source, got.Accuracy)
	}
	why := "operation not permitted"
	if !haveTSC {
		why = errNoTSC.Error()
	}
	if n := len(got.Refused); n != 4 || !libcThreads && !strings.Contains(got.Refused[2], why) {
		t.Errorf("refused %q; want the four better sources, rseq for: %s", got.Refused, why)
	}
}

func TestLabelsUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to change the user; the other tests already run unprivileged")
	}
	// The test binary is in a directory of root.
	program := filepath.Join(t.TempDir(), "cycles.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	got := openInChild(t, program, "open", unprivileged(t, program)).Info
	want := map[Source]Accuracy{RefCyclesRDPMC: CountedUser, RefCyclesRead: CountedUser, RseqClock: ThreadTime, ThreadClock: ThreadTime}
	if got.Accuracy != want[got.Source] && got.Accuracy != Counted {
		t.Errorf("%s is labelled %q; want %q", got.Source, got.Accuracy, want[got.Source])
	}
	if own := Default().Info(); own.Source == RseqClock && got.Source != RseqClock {
		t.Errorf("root has the rseq clock, an unprivileged user has %s: %q", got.Source, got.Refused)
	}
}

// unprivileged returns the credentials of a user without privileges, who can then execute the
// program in a directory of the test.
func unprivileged(t *testing.T, program string) *syscall.Credential {
	for dir := filepath.Dir(program); strings.Contains(dir, t.Name()); dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	const number = 65534
	return &syscall.Credential{Uid: number, Gid: number}
}

// With a C library that registers the areas of its threads itself, the rseq clock uses those. If
// the library was configured not to, the next clock is tried, because the exit of a thread cannot
// be detected.
func TestCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with a C compiler")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler:", err)
	}
	program := filepath.Join(t.TempDir(), "cgo.test")
	build := exec.Command("go", "test", "-c", "-o", program, "-tags", "cycles_cgo", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no cgo here: %v\n%s", err, out)
	}
	who := map[string]*syscall.Credential{"as it is": nil}
	if os.Getuid() == 0 {
		who["unprivileged"] = unprivileged(t, program)
	}
	for name, credential := range who {
		if own := openInChild(t, program, "open", credential).Info; glibcRegisters() && Default().Info().Source == RseqClock && own.Source != RseqClock {
			t.Errorf("%s: source %s; refused %q; want rseq-clock", name, own.Source, own.Refused)
		}
	}
	// The whole truth test, and threads that exit and others that get their memory.
	truth := exec.Command(program, "-test.run=^(TestTruth/rseq-clock|TestThreadsExit)")
	if out, err := truth.CombinedOutput(); err != nil {
		t.Errorf("the truth tests fail in a cgo program: %v\n%s", err, out)
	}
}

// With BOTTLENECK_NO_THREAD_STATE, no thread makes the system calls rseq and set_tid_address: a
// process that is killed at the first one measures and survives. Without it the same process is
// killed.
func TestNoThreadStateMakesNoSystemCallsForIt(t *testing.T) {
	if libcThreads {
		t.Skip("a C library makes these calls itself")
	}
	killed := exec.Command(os.Args[0])
	killed.Env = append(os.Environ(), "CYCLES_TEST_CHILD=fatal")
	err := killed.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSYS {
		testenv.Missing(t, "system calls cannot be made fatal here: ", err)
	}
	t.Setenv(NoThreadState, "1")
	got := openInChild(t, os.Args[0], "fatal", nil).Info
	if got.Source == RseqClock || got.Source == "" {
		t.Errorf("source %q", got.Source)
	}
	if got.Source == ThreadClock && !slices.ContainsFunc(got.Refused, func(s string) bool { return strings.Contains(s, "switched off") || !haveTSC }) {
		t.Errorf("refused %q", got.Refused)
	}
}
