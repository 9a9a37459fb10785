package main

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// The total work does not depend on how the tasks are cut.
func TestCutsKeepTheWork(t *testing.T) {
	p := program{tasks: plain(10, func(i int) time.Duration { return time.Duration(i) * time.Millisecond })}
	if m := p.merged(4); len(m.tasks) != 3 || m.total() != p.total() || sum(m.tasks[0]) != 6*time.Millisecond {
		t.Errorf("merged: %v", m.tasks)
	}
	s := p.split(2 * time.Millisecond)
	if p.total()-s.total() > time.Microsecond || s.largest() > 2*time.Millisecond || !slices.IsSortedFunc(s.tasks, func(a, b []time.Duration) int { return int(b[0] - a[0]) }) {
		t.Errorf("split: %v", s.tasks)
	}
}

// Each program does its work with every task size and every number of workers.
func TestEverySizeDoesTheSameWork(t *testing.T) {
	for _, p := range programs() {
		for _, c := range p.all() {
			if d := p.total() - c.total(); d < 0 || d > p.total()/1000 { // pieces are rounded
				t.Errorf("%s: %v of work is missing with %d tasks", p.name, d, len(c.tasks))
			}
		}
	}
	small := program{workers: 2, tasks: plain(8, func(int) time.Duration { return time.Microsecond })}
	if _, profile := small.run(); profile.Classes[0].Executions() != 8 {
		t.Errorf("%d executions", profile.Classes[0].Executions())
	}
}

func TestMostWork(t *testing.T) {
	const ms = time.Millisecond
	p := program{workers: 2, tasks: [][]time.Duration{{4 * ms}, {ms}, {ms, ms}, {ms}}} // 4 | 1, 2, 1
	if got := p.mostWork(); got != 0.5 && runtime.GOMAXPROCS(0) > 1 {
		t.Errorf("%v of the work, want half", got)
	}
	if p.workers = 1; p.mostWork() != 1 {
		t.Errorf("one worker has %v of the work", p.mostWork())
	}
}
