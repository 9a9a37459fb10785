package timeline

import "os"

// blockingPipe returns the ends of a pipe whose read is a blocking system call.
func blockingPipe() (read, write, shut func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return func() { r.Read(make([]byte, 1)) },
		func() { w.Write([]byte("x")) },
		func() { r.Close(); w.Close() }, nil
}
