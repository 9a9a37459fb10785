// Package atomic has the types of sync/atomic that words.go uses: each operation is a step.
package atomic

import "model/sched"

type number[N int32 | int64] struct{ v N }

func (x *number[N]) Load() N {
	sched.Step("Load", nil)
	return x.v
}

func (x *number[N]) Store(v N) {
	sched.Step("Store(%d)", nil, int64(v))
	x.v = v
}

func (x *number[N]) Add(d N) N {
	sched.Step("Add(%d)", nil, int64(d))
	x.v += d
	return x.v
}

func (x *number[N]) CompareAndSwap(old, v N) bool {
	sched.Step("CompareAndSwap(%d, %d)", nil, int64(old), int64(v))
	if x.v != old {
		return false
	}
	x.v = v
	return true
}

type (
	Int32 struct{ number[int32] }
	Int64 struct{ number[int64] }
)

type Pointer[T any] struct{ p *T }

func (x *Pointer[T]) Load() *T {
	sched.Step("Load", nil)
	return x.p
}

func (x *Pointer[T]) CompareAndSwap(old, p *T) bool {
	sched.Step("CompareAndSwap", nil)
	if x.p != old {
		return false
	}
	x.p = p
	return true
}
