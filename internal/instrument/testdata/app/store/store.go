// Package store has locks of several forms.
package store

import (
	"fmt"
	"log"
	"reflect"
	"sync"
	"time"
)

// Locked is a value with an embedded lock.
type Locked[V any] struct {
	sync.Mutex
	value V
}

// Do calls f with the lock held.
func (l *Locked[V]) Do(f func(*V)) {
	l.Lock()
	defer l.Unlock()
	f(&l.value)
}

// Copy returns a new value like the prototype, made by reflection.
func Copy[T any](prototype *T) *T {
	v := reflect.New(reflect.TypeOf(prototype).Elem())
	v.Elem().Set(reflect.ValueOf(prototype).Elem())
	return v.Interface().(*T)
}

// Slow is a writer that takes its time. The lock of a log.Logger is held for it.
type Slow struct{ Hold func(time.Duration) }

func (s *Slow) Write(b []byte) (int, error) {
	s.Hold(time.Millisecond)
	return len(b), nil
}

// Table is guarded by an RWMutex in a struct without a name.
type Table struct {
	guard struct{ sync.RWMutex }
	rows  map[int]string
}

// Put holds the lock for some time.
func (t *Table) Put(i int, hold func()) {
	t.guard.Lock()
	defer t.guard.Unlock()
	if t.rows == nil {
		t.rows = map[int]string{}
	}
	t.rows[i] = fmt.Sprint(i)
	hold()
}

// Get reads, and holds the lock for some time.
func (t *Table) Get(i int, hold func()) string {
	t.guard.RLock()
	defer t.guard.RUnlock()
	hold()
	return t.rows[i]
}

// Logger returns a logger whose lock is contended.
func Logger(w *Slow) *log.Logger { return log.New(w, "", 0) }
