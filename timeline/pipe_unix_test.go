//go:build !windows

package timeline

import "syscall"

// blockingPipe returns the ends of a pipe whose read is a blocking system call; those of os.Pipe
// wait in the network poller.
func blockingPipe() (read, write, shut func(), err error) {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		return nil, nil, nil, err
	}
	return func() { syscall.Read(p[0], make([]byte, 1)) },
		func() { syscall.Write(p[1], []byte("x")) },
		func() { syscall.Close(p[0]); syscall.Close(p[1]) }, nil
}
