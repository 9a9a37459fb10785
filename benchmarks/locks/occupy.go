package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
)

// Where two logical processors share a core, as those of many virtual machines do, a program of one
// goroutine is 1.6 times as fast while the other one is idle, and whether it is changes with every
// background task, within milliseconds. That has nothing to do with locks but is most of the
// difference between two runs. So while libraries run, a program of the lowest priority keeps busy
// what would be idle.

// occupy starts that program, where there is the command nice; elsewhere it does nothing.
func occupy(ctx context.Context) (end func(), err error) {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, nice, "-n", "19", self, "-spin")
	alive, err := cmd.StdinPipe() // ends when this program does, however it does
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		alive.Close()
		cmd.Wait()
	}, nil
}

// keepBusy keeps all processors busy until r ends.
func keepBusy(r io.Reader) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for x := uint32(1); !stop.Load(); {
				x = compute(x, 1e6)
			}
		})
	}
	io.Copy(io.Discard, r)
	stop.Store(true)
	wg.Wait()
}
