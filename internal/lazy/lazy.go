// Package lazy makes values when they are asked for. A package variable of sync.OnceValue does the
// same, but puts the function that makes the value, and all that this function calls, into every
// program that imports the package.
package lazy

import "sync"

// Value is a value that is made at the first call of Get.
type Value[T any] struct {
	once  sync.Once
	value T
}

// Get returns the value. The first call makes it, others wait for that.
func (v *Value[T]) Get(get func() T) T {
	v.once.Do(func() { v.value = get() })
	return v.value
}
