//go:build !linux

package perfevent

import (
	"errors"
	"fmt"
)

// event and sampler have the methods of the types that embed them. There are no events and no
// samplers on this system, so nothing calls the methods.
type (
	event interface {
		Spec() Spec
		Read() (Count, error)
		MapUser() error
		ReadUser() (value uint64, ok bool)
		Close() error
	}
	sampler interface {
		Hits() []Spec
		Groups() [][]Spec
		Extra() int
		AtSwitches() bool
		Fill() float64
		Drain(func(*Record))
		Follow(func(tid int)) error
		Final(func(*Record)) error
		Totals() (clock Count, hits, groups []Count, err error)
		Stop()
		Close() error
	}
)

// Event is one open counting event of one thread.
type Event struct{ event }

// A Sampler records events of the threads of a process.
type Sampler struct{ sampler }

// OpenThread fails with [errors.ErrUnsupported] on this system.
func OpenThread(spec Spec) (*Event, error) {
	return nil, fmt.Errorf("perfevent: open %s: %w", spec.Name, errors.ErrUnsupported)
}

// OpenChildren fails with [errors.ErrUnsupported] on this system.
func OpenChildren(spec Spec) (*Event, error) { return OpenThread(spec) }

// NewSampler fails with [errors.ErrUnsupported] on this system.
func NewSampler(SamplerOptions) (*Sampler, []Refusal, error) {
	return nil, nil, fmt.Errorf("perfevent: record threads: %w", errors.ErrUnsupported)
}

// Reason describes why the system refused an event.
func Reason(_ Spec, err error) string {
	if errors.Is(err, errors.ErrUnsupported) {
		return "only Linux has perf_event_open"
	}
	return err.Error()
}
