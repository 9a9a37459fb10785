package timeline

import (
	"strings"
	"unsafe"

	"golang.org/x/exp/trace"
)

// Records name goroutines, call chains, reasons and threads by small numbers, which are those of
// one generation: the order in which its decoder met them.

func (c *cursor) goroutine(id trace.GoID) int32 {
	i, isNew := c.goroutines.index(int64(id))
	if isNew {
		if len(c.d.gs) == cap(c.d.gs) {
			c.room(len(c.d.gs), unsafe.Sizeof(localG{})+unsafe.Sizeof(goSlot{})) // and goTable grows
		}
		c.d.gs = append(c.d.gs, localG{id: int64(id), name: -1, stack: -1, thread: -1, proc: -1, site: -1, shown: -1, last: -1})
	}
	return i
}

// lookup returns the local number of a call chain, −1 for none.
func (c *cursor) lookup(s trace.Stack) int32 {
	if s == trace.NoStack {
		return -1
	}
	if id, ok := c.stackIDs[s]; ok {
		return id
	}
	id := int32(-1)
	if stack := c.table.intern(s); stack != nil {
		id = int32(len(c.d.stacks))
		c.d.stacks = append(c.d.stacks, stack)
	}
	c.stackIDs[s] = id
	return id
}

func (c *cursor) reason(s string) int32 {
	id, ok := c.reasonIDs[s]
	if !ok {
		s = strings.Clone(s)
		id = int32(len(c.d.reasons))
		c.reasonIDs[s] = id
		c.d.reasons = append(c.d.reasons, s)
	}
	return id
}

func (c *cursor) threadOf(m trace.ThreadID) int32 {
	if m == c.thread {
		return c.threadID
	}
	id := int32(-1)
	if m != trace.NoThread {
		var ok bool
		if id, ok = c.threadIDs[m]; !ok {
			id = int32(len(c.d.threads))
			c.threadIDs[m] = id
			c.d.threads = append(c.d.threads, int64(m))
		}
	}
	c.thread, c.threadID = m, id
	return id
}

// localProc narrows the number of a P; a trace that is not damaged has no larger ones.
func localProc(p trace.ProcID) int32 {
	if p < 0 || p > maxProc {
		return -1
	}
	return int32(p)
}

// maxProc is far above any GOMAXPROCS.
const maxProc = 1 << 20

// goTable numbers goroutines in the order of their appearance: an open
// addressing table, since a lookup for each event would cost a fifth of the
// whole fold with a map.
type goTable struct {
	slots []goSlot
	n     int
	shift uint
}

type goSlot struct {
	id    int64
	index int32 // +1; 0 = empty
}

func (t *goTable) index(id int64) (i int32, isNew bool) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow()
	}
	h := uint64(id) * 0x9E3779B97F4A7C15 >> t.shift
	for {
		s := &t.slots[h]
		if s.index == 0 {
			t.n++
			s.id, s.index = id, int32(t.n)
			return int32(t.n - 1), true
		}
		if s.id == id {
			return s.index - 1, false
		}
		if h++; h == uint64(len(t.slots)) {
			h = 0
		}
	}
}

func (t *goTable) grow() {
	old := t.slots
	size := 256
	if len(old) > 0 {
		size = 2 * len(old)
	}
	t.slots = make([]goSlot, size)
	t.shift = 64
	for ; size > 1; size >>= 1 {
		t.shift--
	}
	for _, s := range old {
		if s.index == 0 {
			continue
		}
		h := uint64(s.id) * 0x9E3779B97F4A7C15 >> t.shift
		for t.slots[h].index != 0 {
			if h++; h == uint64(len(t.slots)) {
				h = 0
			}
		}
		t.slots[h] = s
	}
}
