package timeline

// Who holds which P matters in system calls: a goroutine keeps its P there until somebody takes it.

// procIdle: the goroutine that held P in a system call, if any, lost it.
func (r *replay) procIdle(p int32, t Time) {
	g := r.holder(p)
	if g == nil {
		return
	}
	r.dropProc(p, g)
	cur := g.cur
	cur.state = withoutProc(cur.state)
	cur.since, cur.proc = t, -1
	r.change(g, &cur, nil, nil)
}

// placeSyscall puts a goroutine that enters a system call, or C, into the state that it has there.
func (r *replay) placeSyscall(g *Goroutine, cur *interval) {
	switch {
	case cur.stack != nil && cur.stack.inC:
		cur.state, cur.wait = InC, WaitC
	case cur.stack == nil && g.ofC:
		cur.wait = WaitCThread
	}
	if cur.proc < 0 {
		cur.state = withoutProc(cur.state)
	} else {
		r.holdProc(cur.proc, g)
	}
}

// withoutProc returns the state in which a goroutine is that was in s, a system call or C, when its
// P is taken.
func withoutProc(s State) State {
	if s == InC {
		return InCDetached
	}
	return SyscallBlocked
}

// inSyscall reports whether the state is a system call to the runtime.
func (s State) inSyscall() bool { return s == Syscall || s == SyscallBlocked || s.IsC() }

const smallProcs = 1024

func (r *replay) holdProc(p int32, g *Goroutine) {
	switch {
	case p < 0:
	case p < smallProcs:
		for int(p) >= len(r.procs) {
			r.procs = append(r.procs, nil)
		}
		r.procs[p] = g
	default:
		r.sysProc[p] = g
	}
}

func (r *replay) holder(p int32) *Goroutine {
	switch {
	case p < 0:
		return nil
	case int(p) < len(r.procs):
		return r.procs[p]
	case p < smallProcs:
		return nil
	}
	return r.sysProc[p]
}

func (r *replay) dropProc(p int32, g *Goroutine) {
	if r.holder(p) != g {
		return
	}
	if p < smallProcs {
		r.procs[p] = nil
	} else {
		delete(r.sysProc, p)
	}
}
