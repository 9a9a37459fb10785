//go:build !linux

package perfevent

import (
	"errors"
	"fmt"
)

// Event is one open counting event of one thread. It is not supported on this system.
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

// A Sampler records events of the threads of a process. It is not supported on this system.
type Sampler struct{}

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

// Hits returns nothing on this system.
func (s *Sampler) Hits() []Spec { return nil }

// Groups returns nothing on this system.
func (s *Sampler) Groups() [][]Spec { return nil }

// Extra returns 0 on this system.
func (s *Sampler) Extra() int { return 0 }

// AtSwitches reports false on this system.
func (s *Sampler) AtSwitches() bool { return false }

// Fill returns 0 on this system.
func (s *Sampler) Fill() float64 { return 0 }

// Drain does nothing on this system.
func (s *Sampler) Drain(func(*Record)) {}

// Follow does nothing on this system.
func (s *Sampler) Follow(func(int)) error { return nil }

// Final does nothing on this system.
func (s *Sampler) Final(func(*Record)) error { return nil }

// Totals fails on this system.
func (s *Sampler) Totals() (clock Count, hits, groups []Count, err error) {
	return clock, nil, nil, errors.ErrUnsupported
}

// Stop does nothing on this system.
func (s *Sampler) Stop() {}

// Close does nothing on this system.
func (s *Sampler) Close() error { return nil }
