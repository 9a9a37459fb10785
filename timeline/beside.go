package timeline

import "github.com/bottleneck-go/bottleneck/internal/background"

// Observers cannot be shown a pass while the replay goes on: what they ask of a goroutine changes.
// But the records of a generation do not change, so two replays can go over them side by side, each
// with goroutines of its own. The second one costs the state machine once more, and memory for the
// goroutines that live. So it is only for observers that take much more time than that, and not for
// traces of many goroutines, nor where Options.Workers asks for one thread.

// Beside returns an observer that may be called on another goroutine than the other observers of
// the pass, at the same time as they are. It is given other *Goroutine values, with equal content,
// than they are.
func Beside(o Observer) Observer { return beside{o} }

type beside struct{ Observer }

// split takes the observers of Beside from the others.
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

// mostBeside bounds the live goroutines of the first generation of two replays.
const mostBeside = 1 << 14

// sides is the replay of a pass, and the one beside it, nil if there is none.
type sides struct {
	replay, beside *replay
	single         bool // all observers share one
}

// joinAt lets observers see the pass from some time on.
func (s *sides) joinAt(second Second) {
	here, others := split(second.Observers)
	if len(here) == 0 || s.single {
		here, others = append(here, others...), nil
	}
	s.replay.joinAt(Second{From: second.From, Observers: here})
	if len(others) > 0 {
		s.beside = newReplay(s.replay.version, s.replay.stacks, nil)
		s.beside.meter = s.replay.meter
		if s.replay.gate != nil {
			s.beside.gate = newGate(s.replay.gate.During)
		}
		s.beside.joinAt(Second{From: second.From, Observers: others})
	}
}

// generation replays a generation, and returns why a replay stopped in the middle of it.
func (s *sides) generation(d *decoded) *memoryError {
	if s.beside != nil && !s.replay.begun && d.mostLive() > mostBeside {
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

// each calls f for the replays, side by side. A panic of an observer is passed on.
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

// relieveBy sets what gives back memory.
func (s *sides) relieveBy(relieve func()) {
	s.replay.relieve = relieve
	if s.beside != nil {
		s.beside.relieve = relieve
	}
}

// mostLive returns how many goroutines live at the same time in a generation at most.
func (d *decoded) mostLive() (most int) {
	if len(d.gs) <= mostBeside {
		return len(d.gs)
	}
	live := 0
	for i := range d.gs {
		if d.gs[i].status != Unknown {
			live++
		}
	}
	most = live
	for records := range d.all() {
		for i := range records {
			code := uint8(records[i].head)
			if code >= codeRangeBegin {
				continue
			}
			switch from, to := stepStates(code); {
			case from == NotExist:
				live++
				most = max(most, live)
			case to == NotExist:
				live--
			}
		}
	}
	return most
}
