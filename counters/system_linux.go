package counters

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startStopped starts a command and calls attach before its first instruction, because traced
// processes stop after executing a program. Otherwise it behaves like cmd.Start; the process is no
// longer traced when startStopped returns.
func startStopped(cmd *exec.Cmd, attach func(pid int)) error {
	runtime.LockOSThread() // the thread that starts a process traces it
	defer runtime.UnlockOSThread()
	var attr syscall.SysProcAttr
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	attr.Ptrace = true
	cmd.SysProcAttr = &attr
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return giveUp(cmd, err)
	}
	if !status.Stopped() {
		return giveUp(cmd, fmt.Errorf("it did not stop at its beginning (status %#x)", uint32(status)))
	}
	attach(pid)
	if err := syscall.PtraceDetach(pid); err != nil {
		return giveUp(cmd, err)
	}
	return nil
}

func giveUp(cmd *exec.Cmd, err error) error {
	cmd.Process.Kill()
	cmd.Wait()
	return err
}

// now returns the time by CLOCK_MONOTONIC, the clock of the kernel's records.
func now() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // it cannot fail
	}
	return ts.Nano()
}
