package timeline

import "github.com/bottleneck-go/bottleneck/internal/wireformat"

// The runtime tells the status of a goroutine before its first event of a generation, with one
// exception: a coroutine (iter.Pull) whose first event is its end. The runtime has let go of the
// goroutine already when it writes that event (Go 1.23 to 1.26). Package wireformat adds the status
// where it belongs, before the event, with a number that no goroutine of the runtime has. The
// replay knows from the generation before which goroutine it is.

// runners returns which goroutine runs on which thread.
func (r *replay) runners() map[int64]int64 {
	on := map[int64]int64{}
	for id, g := range r.gs {
		if g.cur.state == Running && g.cur.thread >= 0 {
			on[g.cur.thread] = id
		}
	}
	return on
}

// knowsLost reports whether running has a coroutine of which the generation has only the end, and
// which is not called by its number yet.
func (d *decoded) knowsLost(running map[int64]int64) bool {
	for _, l := range d.lost {
		if _, ok := running[l.Thread]; ok && l.G == wireformat.LostGoroutine(l.Thread) {
			return true
		}
	}
	return false
}
