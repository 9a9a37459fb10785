// Package lazy computes values on first use. A package variable of sync.OnceValue does the same,
// but links the function that computes the value, and everything it calls, into every program that
// imports the package.
package lazy

import "sync"

// Value is a value that the first call of Get computes.
type Value[T any] struct {
	once  sync.Once
	value T
}

// Get returns the value. The first call computes it, and concurrent calls wait for that.
func (v *Value[T]) Get(get func() T) T {
	v.once.Do(func() { v.value = get() })
	return v.value
}
