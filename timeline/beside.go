package timeline

import "github.com/bottleneck-go/bottleneck/internal/background"

// Two replays can read the records of a generation concurrently, each with its own goroutines. The
// second one runs the state machine again and needs memory for the live goroutines. It is therefore
// used only for observers that cost much more than that, and not for traces with many goroutines or
// if Options.Workers is 1.

// Beside returns an observer that may be called on another goroutine than the other observers of
// the pass, concurrently with them. It receives its own *Goroutine values, with equal content.
func Beside(o Observer) Observer { return beside{o} }

type beside struct{ Observer }

// split separates the observers made by Beside from the others.
func split(observers []Observer) (here, others []Observer) {
	for _, o := range observers {
		if b, ok := o.(beside); ok {
			others = append(others, b.Observer)
		} else {
			here = append(here, o)
		}
	}
	return here, others
}

// mostBeside bounds the live goroutines of the first generation if there are two replays.
const mostBeside = 1 << 14

// sides is the replay of a pass and the one beside it, nil if there is none.
type sides struct {
	replay, beside *replay
	single         bool // all observers share one
}

// joinAt attaches observers to the pass at a time; 0 is the beginning.
func (s *sides) joinAt(from Time, observers []Observer) {
	here, others := split(observers)
	if len(here) == 0 || s.single {
		here, others = append(here, others...), nil
	}
	s.replay.joinAt(from, here)
	if len(others) > 0 {
		s.beside = newReplay(s.replay.version, s.replay.stacks, nil)
		s.beside.meter = s.replay.meter
		s.beside.gate = s.replay.gate.again()
		s.beside.joinAt(from, others)
	}
}

// generation replays a generation. It returns the error that stopped a replay in the middle of it.
func (s *sides) generation(d *decoded) *memoryError {
	if s.beside != nil && !s.replay.begun && d.mostLive > mostBeside {
		s.replay.observers = append(s.replay.observers, s.beside.observers...)
		s.replay.joining = append(s.replay.joining, s.beside.joining...)
		s.beside = nil
	}
	if s.beside != nil {
		s.beside.origin = s.replay.origin
	}
	s.each(func(r *replay) { r.generation(d) })
	if s.beside != nil && s.replay.full == nil {
		return s.beside.full
	}
	return s.replay.full
}

// each calls f for the replays concurrently. It propagates a panic of an observer.
func (s *sides) each(f func(*replay)) {
	if s.beside == nil {
		f(s.replay)
		return
	}
	done := make(chan any, 1)
	background.Go(func() {
		defer func() { done <- recover() }()
		f(s.beside)
	})
	defer func() {
		if v := <-done; v != nil {
			panic(v)
		}
	}()
	f(s.replay)
}

// relieveBy sets the function that releases memory.
func (s *sides) relieveBy(relieve func()) {
	s.replay.relieve = relieve
	if s.beside != nil {
		s.beside.relieve = relieve
	}
}
