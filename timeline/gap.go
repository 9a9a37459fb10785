package timeline

// gap shows that generations are missing before d, or that there was no trace for a while: whatever
// lives leaves for Unknown now, and comes back as far as d tells of it.
func (r *replay) gap(d *decoded, g *Gap) {
	to := d.base
	if d.hasReal {
		to = d.firstReal
	}
	g.From, g.To = r.now, max(r.now, to)
	r.leave()
	r.now = g.To
	for _, o := range r.observers {
		o.Gap(g)
	}
}

// leave shows that whatever lives leaves for Unknown.
func (r *replay) leave() {
	live := r.living()
	for _, lg := range live {
		r.change(lg, &interval{since: r.now, proc: -1, thread: -1}, nil, nil)
	}
	r.kept = r.gs
	r.gs = make(map[int64]*Goroutine, len(live))
	r.indexes, r.nextIdx = nil, 0
	r.sysProc, r.procs = map[int32]*Goroutine{}, nil
	r.tasks = map[uint64]openTask{}
	r.open = map[rangeKey]Time{}
}

// forget gives back the memory of what lives: a generation could not be read to its end without
// more.
func (r *replay) forget() {
	r.leave()
	r.full, r.kept, r.d = nil, nil, nil
	r.gs = map[int64]*Goroutine{}
	r.forgetStacks()
}

// ofGoroutine is about how many bytes the replay and all analyses keep for a live goroutine.
const ofGoroutine = 2048

// living returns the living goroutines in the order of their ids.
func (r *replay) living() []*Goroutine {
	live := make([]*Goroutine, 0, len(r.gs))
	for _, g := range r.gs {
		live = append(live, g)
	}
	sortByID(live)
	return live
}

// recall gives a goroutine that was known before a gap its name and creator again.
func (r *replay) recall(g *Goroutine) {
	k := r.kept[g.ID]
	if k == nil {
		return
	}
	r.info.Goroutines-- // it was counted already
	g.Func, g.Start, g.Kind = k.Func, k.Start, k.Kind
	g.start, g.root, g.site, g.named, g.varies = k.start, k.root, k.site, k.named, k.varies
	if k.rare != nil {
		g.others().launcher = k.rare.launcher
	}
	g.CreatorID, g.CreatorFunc, g.CreatorStack, g.Task = k.CreatorID, k.CreatorFunc, k.CreatorStack, k.Task
}

// What a pass that never ends may carry from generation to generation besides what lives.
const (
	maxStreamStacks = 1 << 16
	maxStreamTasks  = 1 << 16
)

// bound forgets what would grow for ever: call chains that are many, and tasks that never end.
// Equal call chains are then not the same pointers as before.
func (r *replay) bound() {
	if r.stacks.size() > maxStreamStacks {
		r.forgetStacks()
	}
	if r.meter != nil && int64(len(r.gs)) > r.meter.Limit()/ofGoroutine {
		r.forget()
	}
	if len(r.tasks) > maxStreamTasks {
		r.tasks = map[uint64]openTask{}
	}
}

func (r *replay) forgetStacks() {
	r.stacks = newStackTable()
	number := r.number // old start functions remember it
	r.naming = newNaming()
	r.number = number
}

// size is about how many call chains or frames there are.
func (t *stackTable) size() int { return max(len(t.stacks), (len(t.frames)+len(t.others))/4) }
