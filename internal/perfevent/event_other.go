//go:build !linux

package perfevent

import (
	"errors"
	"fmt"
)

// Event is one open counting event of one thread. There are none on this system.
type Event struct{}

// OpenThread fails with [errors.ErrUnsupported] on this system.
func OpenThread(spec Spec) (*Event, error) {
	return nil, fmt.Errorf("perfevent: open %s: %w", spec.Name, errors.ErrUnsupported)
}

// Spec returns what the event counts.
func (e *Event) Spec() Spec { return Spec{} }

// Read fails with [errors.ErrUnsupported] on this system.
func (e *Event) Read() (Count, error) { return Count{}, errors.ErrUnsupported }

// MapUser fails with [errors.ErrUnsupported] on this system.
func (e *Event) MapUser() error { return errors.ErrUnsupported }

// ReadUser reports false on this system.
func (e *Event) ReadUser() (value uint64, ok bool) { return 0, false }

// Close does nothing on this system.
func (e *Event) Close() error { return nil }
