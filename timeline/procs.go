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
	cur.state, cur.since, cur.proc = SyscallBlocked, t, -1
	r.change(g, &cur, nil, nil)
}

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
