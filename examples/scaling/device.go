package main

import (
	"errors"
	"os"
	"sync"
	"time"
)

// device serves one request at a time: one byte in, one byte out. Goroutines wait for its pipes as
// for a network.
type device struct {
	each time.Duration
	busy sync.Mutex
}

// connect returns a function that makes a request, and one that disconnects.
func (d *device) connect() (request func() error, end func(), err error) {
	in, toDevice, err := os.Pipe()
	fromDevice, out, err2 := os.Pipe()
	if err = errors.Join(err, err2); err != nil {
		return nil, nil, err
	}
	go func() {
		defer in.Close()
		defer out.Close()
		for b := make([]byte, 1); ; {
			if _, err := in.Read(b); err != nil {
				return
			}
			d.busy.Lock()
			time.Sleep(d.each)
			d.busy.Unlock()
			if _, err := out.Write(b); err != nil {
				return
			}
		}
	}()
	request = func() error {
		b := make([]byte, 1)
		_, err := toDevice.Write(b)
		if err == nil {
			_, err = fromDevice.Read(b)
		}
		return err
	}
	return request, func() { toDevice.Close(); fromDevice.Close() }, nil
}
