// Package stream has the methods of the package of that name.
package stream

import "github.com/sourcegraph/conc/pool"

type Stream struct{ pool pool.Pool }

type Task func() Callback

type Callback func()

func (s *Stream) Go(f Task) { s.pool.Go(func() { f()() }) }
func (s *Stream) Wait()     { s.pool.Wait() }
