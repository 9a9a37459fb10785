package criticalpath

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A backward walk needs all events, which are not kept. So the paths of all goroutines grow forward,
// as if each goroutine were the end of a path:
//
//  1. A path is a chain of nodes, the newest first. Each has the end of its piece of time and what
//     happened in it; the piece begins where that of its parent ends.
//  2. When a goroutine wakes another one, the other one drops its own path, and gets that of its
//     waker. So chains share their past: together they are a tree whose leaves are goroutines.
//     References are counted, and nodes that no goroutine can reach are free at once.
//  3. A path from the beginning of a task is the part of its goroutine's chain after that time.
//  4. When the nodes have doubled, chains are folded. In a stretch without branches, and without
//     the beginning of a task under way, only sums matter: the order of its nodes does not. So nodes
//     of the same kind, group and place become one.
//  5. If there still are too many, the past before some time is forgotten: all paths get a common
//     node there, of unknown content. Sums remain exact.

// node is a piece of paths.
type node struct {
	end    timeline.Time
	parent int32 // 0: nothing, up to the beginning of the trace
	refs   int32 // nodes whose parent it is, and goroutines whose newest node it is
	row    int32
	seen   uint32 // the number of the walk that has visited it
}

// tree holds the nodes of all paths. Element 0 stands for the beginning of the trace.
type tree struct {
	nodes       []node
	free        []int32
	limit       int // the number of nodes at which chains are folded
	least, most int // bounds of limit
	walk        uint32
	begins      []begin // of tasks under way, in the order of time
	tasks       int     // under way

	sums    []timeline.Time // by row, for folding; else all 0
	touched []int32
	run     []int32
}

// begin counts the tasks under way that began at the same time.
type begin struct {
	at timeline.Time
	n  int
}

// Limits of the nodes, which take 24 bytes each.
const (
	leastNodes = 1 << 13
	mostNodes  = 1 << 20
)

// start returns when the piece of a node begins.
func (t *tree) start(i int32) timeline.Time { return t.nodes[t.nodes[i].parent].end }

// full reports whether chains must be folded before a node is added. A free one is left for forget.
func (t *tree) full() bool { return len(t.free) < 2 && len(t.nodes) >= t.limit }

// add returns a new node with one reference, which takes over that to its parent.
func (t *tree) add(parent, row int32, end timeline.Time) int32 {
	n := node{end: end, parent: parent, refs: 1, row: row}
	if k := len(t.free) - 1; k >= 0 {
		i := t.free[k]
		t.free = t.free[:k]
		t.nodes[i] = n
		return i
	}
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1)
}

// release drops a reference to a node.
func (t *tree) release(i int32) {
	for i != 0 {
		n := &t.nodes[i]
		if n.refs--; n.refs > 0 {
			return
		}
		t.free = append(t.free, i)
		i = n.parent
	}
}

// TaskBegins notes that a task begins. It must be called during the pass, in the order of time.
func (t *tree) TaskBegins(at timeline.Time) {
	t.tasks++
	if k := len(t.begins) - 1; k >= 0 && t.begins[k].at >= at {
		t.begins[k].n++
		return
	}
	if len(t.begins) > 2*t.tasks+64 {
		t.forgetEnded()
	}
	t.begins = append(t.begins, begin{at, 1})
}

// ended notes that a task that began at a time ends.
func (t *tree) ended(at timeline.Time) {
	if k := t.beginsBefore(at); k < len(t.begins) && t.begins[k].at == at && t.begins[k].n > 0 {
		t.begins[k].n--
		t.tasks--
	}
}

func (t *tree) forgetEnded() {
	t.begins = slices.DeleteFunc(t.begins, func(b begin) bool { return b.n == 0 })
}

// beginsBefore returns how many elements of begins are before a time.
func (t *tree) beginsBefore(at timeline.Time) int {
	k, _ := slices.BinarySearchFunc(t.begins, at, func(b begin, at timeline.Time) int { return int(b.at - at) })
	return k
}

// fold folds the chains that end in some nodes, which are all that goroutines refer to.
func (t *tree) fold(tips func(visit func(i int32)), goroutines int) {
	t.forgetEnded()
	t.walk++
	tips(func(i int32) {
		for i != 0 && t.nodes[i].seen != t.walk {
			i = t.foldRun(i)
		}
	})
	t.limit = min(max(t.least, 2*(len(t.nodes)-len(t.free))+goroutines), t.most)
}

// foldRun folds the stretch of a chain that ends with node i, and returns the node before it.
func (t *tree) foldRun(i int32) int32 {
	end := t.nodes[i].end
	// No task under way began inside the stretch.
	oldest := t.nodes[0].end
	if k := t.beginsBefore(end); k > 0 {
		oldest = t.begins[k-1].at
	}
	t.run, t.touched = t.run[:0], t.touched[:0]
	for {
		n := &t.nodes[i]
		n.seen = t.walk
		if int(n.row) >= len(t.sums) {
			t.sums = append(t.sums, make([]timeline.Time, int(n.row)+1-len(t.sums))...)
		}
		if t.sums[n.row] == 0 {
			t.touched = append(t.touched, n.row)
		}
		t.sums[n.row] += n.end - t.start(i)
		t.run = append(t.run, i)
		i = n.parent
		if i == 0 || t.nodes[i].seen == t.walk || t.nodes[i].refs > 1 || t.start(i) < oldest {
			break
		}
	}
	for k, row := range t.touched {
		n := &t.nodes[t.run[k]]
		n.row, n.end = row, end
		end -= t.sums[row]
		t.sums[row] = 0
	}
	kept := len(t.touched)
	t.nodes[t.run[kept-1]].parent = i
	for _, k := range t.run[kept:] {
		t.nodes[k].refs = 0
		t.free = append(t.free, k)
	}
	return i
}

// forget drops the older half of the past. It returns until when, and a node with that end and one
// reference, for goroutines whose newest node is older. The row is that of unknown time.
func (t *tree) forget(row int32, tips func(visit func(i int32))) (at timeline.Time, root int32) {
	var ends []timeline.Time
	for i := 1; i < len(t.nodes); i += max(1, len(t.nodes)/1024) {
		if t.nodes[i].refs > 0 {
			ends = append(ends, t.nodes[i].end)
		}
	}
	slices.Sort(ends)
	at = ends[len(ends)/2]
	root = t.add(0, row, at)
	t.walk++
	tips(func(i int32) {
		for t.nodes[i].end > at && t.nodes[i].seen != t.walk {
			t.nodes[i].seen = t.walk
			before := t.nodes[i].parent
			if t.nodes[before].end <= at {
				t.nodes[i].parent = root
				t.nodes[root].refs++
				t.release(before)
			}
			i = before
		}
	})
	return at, root
}
