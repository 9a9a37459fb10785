package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Options configures a pass. The zero value is ready to use.
type Options struct {
	// Name is the name of the input in errors: a file name or URL.
	Name string
	// Workers is the number of generations that are decoded concurrently. Together with the
	// size of a generation, it determines the memory use of a pass. 0 means GOMAXPROCS, at most
	// 8. With 1, observers of [Beside] run on the same goroutine as the others.
	Workers int
	// Progress is called after each generation with the number of bytes done and the size of
	// the input, −1 if unknown.
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the process's heap during the pass, in bytes, to within
	// 2 %, which may be allocated between two looks at it. If memory becomes scarce,
	// generations are first decoded one at a time instead of concurrently. A pass that needs
	// still more ends with an error that is [ErrMemory], after the data
	// replayed so far. 0 means half of the memory of the machine or cgroup; a negative value
	// means no limit.
	MaxMemory int64

	// The following select a part of the trace, in whole generations of about a second each.
	// Generations before the part are only scanned for creations of goroutines, which takes a
	// tenth of the time of decoding. Generations after the part are not read.
	//
	// The states of goroutines are exact from the beginning of the part, because each generation
	// contains them. Goroutines that began before the part are named by their start and by their
	// call chains within the part, but have no creator, and their open regions, tasks and labels
	// are unknown. A note in Info states that. Traces before Go 1.22 are decoded as a whole.

	// From and To bound the part by time, relative to the beginning of the trace, which
	// Observer.Begin still reports. The part consists of the generations with a time between them.
	// A To of 0 is the end. With During, the whole trace is decoded, and the clock is stopped
	// outside From and To.
	From, To time.Duration
	// First and Last bound the part by generation number, from 1. A Last of 0 is the last
	// generation. Observers see a trace that begins with First.
	First, Last int
	// During, if it is not empty, restricts the part to some of its time:
	//
	//	region:NAME   while a region of that type is open in any goroutine
	//	task:TYPE     while a task of that type is open
	//	gc            while the garbage collector marks
	//	gc:N          in the Nth garbage collection of the trace, from 1
	//	marker:A..B   from each message A of runtime/trace.Log to the next B; without B,
	//	              to the end
	//
	// Outside selects all other time instead. Observers see a trace whose clock stops outside
	// the selected time: the length of an interval is that of its selected part, and the length
	// of the trace is that of all selected time. Events take no time while the clock is stopped,
	// so analyses do not count waits that lie entirely outside.
	During  string
	Outside bool
	// Spans, if not nil, restricts the part to these intervals, in order, each with its begin and
	// its end: the clock stops outside of them, as with During.
	Spans [][2]Time

	start   int64           // offset of the first generation to read; 0: of the trace
	decodes func(index int) // tests: called with the index of each decoded generation
}

// ErrMemory is the error of a pass that would exceed Options.MaxMemory.
var ErrMemory = memory.ErrLimit

// memoryError describes what a pass held when it reached its limit.
type memoryError struct {
	limit, read int64 // in bytes; read is how much of the trace was read
	holds       string
}

func (e *memoryError) Error() string {
	return fmt.Sprintf("memory limit %s exceeded after reading %s of the trace: %s; raise it with -memory or Options.MaxMemory",
		memory.Text(e.limit), memory.Text(e.read), e.holds)
}

func (e *memoryError) Unwrap() error { return ErrMemory }

// Info summarizes a pass.
type Info struct {
	Version     int   // of the trace format: 22 for Go 1.22; 0 if there is none
	Start, End  Time  // times of the first and last event that is not a status
	Generations int   // replayed
	Skipped     int   // before these, not decoded: see Options.First
	Events      int64 // decoded
	Goroutines  int   // seen
	MaxLive     int   // most goroutines known at the same time
	Size        int64 // of the input in bytes, −1 if unknown
	Bytes       int64 // of the generations that were replayed, without compression
	// Reordered counts the transitions whose time was raised to that of the previous
	// transition, from another generation.
	Reordered int
	// InC is the total time of goroutines in C code; see State.IsC. GoroutinesInC is the number
	// of these goroutines.
	InC           Time
	GoroutinesInC int
	// Inconsistent counts the events that contradict the state before them.
	Inconsistent int
	// Notes lists, in sentences, other limits of the pass's accuracy.
	Notes []string
}

// GoVersion returns the version of the trace format, such as "go1.22", or "".
func (i *Info) GoVersion() string {
	if i == nil || i.Version == 0 {
		return ""
	}
	return fmt.Sprintf("go1.%d", i.Version)
}

// Warnings lists, in sentences, what limits the accuracy of results of the pass, which ended with
// err: that the trace could not be read to its end, the Notes, and the Inconsistent and Reordered
// counts. File names are given without directories, because warnings are passed on together
// with the results.
func (i *Info) Warnings(err error) (w []string) {
	if full := (*Error)(nil); errors.As(err, &full) && full.Name != "" && !strings.Contains(full.Name, "://") {
		short := *full
		short.Name = filepath.Base(full.Name)
		err = &short
	}
	if err != nil {
		w = append(w, fmt.Sprintf("The trace could not be read to its end: %v.", err))
	}
	w = append(w, i.Notes...)
	if i.Inconsistent > 0 {
		w = append(w, fmt.Sprintf("%d of %d events contradict what was known before them: the trace may be damaged.", i.Inconsistent, i.Events))
	}
	if i.Reordered > 0 {
		w = append(w, fmt.Sprintf("%d of %d events were moved to keep time from running backwards between generations.", i.Reordered, i.Events))
	}
	return w
}

// Duration returns the length of the trace.
func (i *Info) Duration() time.Duration { return time.Duration(i.End - i.Start) }

// Error describes where and why a trace could not be read to the end. The data before Offset was
// shown to the observers.
type Error struct {
	Name       string // of the input
	Offset     int64  // in bytes, in the uncompressed trace
	Compressed string // "gzip", "zstd" or ""
	Generation int    // from 1; 0 for the header
	Err        error  // the cause
	// Read describes the data read before the error.
	Read Info
	// Left is the number of bytes from the beginning of the generation to the end of the input,
	// −1 if unknown. If Partial, some of them were used; otherwise none were.
	Left    int64
	Partial bool
}

// Error returns a message with the place and cause of the error and how much was read before.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Name != "" {
		fmt.Fprintf(&b, "%s: ", e.Name)
	}
	if e.Generation == 0 {
		fmt.Fprintf(&b, "%v", e.Err)
		return b.String()
	}
	fmt.Fprintf(&b, "offset %d", e.Offset)
	if e.Compressed != "" {
		b.WriteString(" after unpacking")
	}
	fmt.Fprintf(&b, ": generation %d: %v; ", e.Generation, e.Err)
	if e.Read.Generations == 0 {
		b.WriteString("nothing could be read")
		return b.String()
	}
	fmt.Fprintf(&b, "read %v of the run, ", e.Read.Duration().Round(time.Microsecond))
	if e.Partial {
		b.WriteString("the end of it only in part")
	} else {
		b.WriteString("not the end of it")
	}
	if e.Left >= 0 && e.Read.Size > 0 {
		fmt.Fprintf(&b, " (the last %d of %d bytes)", e.Left, e.Read.Size)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReadFile replays the trace in a file to the observers. See [Read].
func ReadFile(ctx context.Context, name string, opt Options, observers ...Observer) (*Info, error) {
	f, err := os.Open(name)
	if err != nil {
		return &Info{Size: -1}, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return &Info{Size: -1}, &Error{Name: name, Err: errors.New("it is a directory")}
	}
	opt.Name = cmp.Or(opt.Name, name)
	return Read(ctx, f, opt, observers...)
}

// Read replays the trace in r to the observers in one pass, in the order of time. It reads r to the
// end. Regular files and in-memory readers at their beginning are read by random access. Traces
// compressed with gzip or zstd are decompressed. Observers are called on one goroutine at a time;
// their arguments are valid only during the call.
//
// Traces of Go 1.22 to 1.27 are read by generations. Older ones, from Go 1.11 on, are read in one
// piece, which takes memory for the whole trace. Newer ones are an error. A trace does not show when
// the operating system preempts a thread, what C code does ([State.IsC]), which lock or channel a
// wait is for, or acquisitions without a wait. A goroutine that is older than the trace and never
// blocks has no name. Call chains have at most 128 frames.
//
// Read always returns an Info. If a trace is truncated or damaged, the observers have seen the data
// before the damage, closed as if the trace ended there, and the error is an *[Error] that
// describes the place and the extent of the loss. If nothing could be read, Read calls no method of
// an observer.
func Read(ctx context.Context, r io.Reader, opt Options, observers ...Observer) (*Info, error) {
	return read(ctx, r, opt, anyFormat(), 0, observers)
}

// read is Read for observers that are attached at a time; 0 is the beginning.
func read(ctx context.Context, r io.Reader, opt Options, formats formats, from Time, observers []Observer) (*Info, error) {
	p, err := open(ctx, r, opt, formats, from, observers)
	defer p.in.close()
	if err == nil {
		err = p.all()
	}
	return &p.replay.info, err
}

// open begins a pass.
func open(ctx context.Context, r io.Reader, opt Options, formats formats, from Time, observers []Observer) (*pass, error) {
	in, err := openInput(r, formats)
	p := &pass{ctx: ctx, opt: opt, in: in, other: formats.other, stacks: newStackTable(), meter: memory.ForPass(ctx, opt.MaxMemory)}
	if s, ok := in.source.(*streamSource); ok {
		s.meter = p.meter
	}
	p.replay = newReplay(in.version, p.stacks, nil)
	gate, gerr := newGate(&p.opt)
	p.replay.gate, err = gate, cmp.Or(err, gerr)
	p.replay.meter = p.meter
	p.single = p.workers() == 1
	p.joinAt(from, observers)
	p.replay.info.Version, p.replay.info.Size = in.version, in.size
	if err != nil {
		p.replay.info = Info{Size: in.size}
		return p, p.wrong(err)
	}
	return p, nil
}

// wrong returns the error for a trace that cannot be read at all.
func (p *pass) wrong(err error) error {
	return &Error{Name: p.opt.Name, Compressed: p.in.compressed, Err: err}
}

// all reads the trace to its end.
func (p *pass) all() error {
	err := p.run()
	if err == nil && !p.replay.begun {
		if p.sel != nil && p.sel.skipped > 0 {
			err = fmt.Errorf("there is no generation %d: the trace has %s", p.opt.First, format.Plural(p.sel.skipped, "generation", "generations"))
		}
		err = p.wrong(cmp.Or(err, errors.New("the trace has a header but no events; a trace is complete only after trace.Stop")))
	}
	if p.each((*replay).end); err == nil {
		if err = p.replay.gate.missing(); err != nil {
			p.replay.info = Info{Version: p.in.version, Size: p.in.size} // nothing was seen
			err = p.wrong(err)
		}
	}
	return err
}

// pass reads one trace: it cuts the trace into generations in order, decodes them concurrently, and
// replays them in order.
type pass struct {
	ctx    context.Context
	opt    Options
	in     *input
	stacks *stackTable
	sides
	meter  *memory.Meter
	keep   func(*decoded) bool // takes over a replayed generation for a second pass; may be nil
	other  decodeFunc          // see formats
	sel    *selector
	expect atomic.Int64 // goroutines of the generation that was decoded last
}

// job is a generation on its way through the pass.
type job struct {
	cut chan struct{} // closed when gen is known
	gen *generation   // nil at the end of the trace
	d   chan *decoded
}

func (p *pass) workers() int {
	if p.opt.Workers > 0 {
		return p.opt.Workers
	}
	return min(8, runtime.GOMAXPROCS(0))
}

func (p *pass) run() error {
	if p.in.whole != nil {
		return p.runWhole()
	}
	part := p.opt
	if part.During != "" {
		part.From, part.To = 0, 0 // the gate cuts the time
	}
	p.sel = &selector{opt: &part, cut: &cutter{src: p.in.source, scanner: scanner{version: p.in.version}, pos: max(headerSize, p.opt.start)}, births: births{}, stacks: p.stacks}
	ctx, cancel := context.WithCancel(p.ctx)
	workers := p.workers()
	var jobs []*job
	var left []*generation // to decode again, one at a time
	// relieve releases the generations that are not yet replayed if memory becomes scarce.
	relieve := sync.OnceFunc(func() {
		cancel()
		var cut []*generation
		for _, j := range jobs {
			if (<-j.d).release(); j.gen != nil {
				cut = append(cut, j.gen)
			}
		}
		jobs, left, workers, ctx = nil, cut, 1, p.ctx // no goroutine reads left anymore
	})
	defer relieve()
	p.relieveBy(relieve)
	defer p.relieveBy(nil)
	ended := false
	cut := func() (g *generation) {
		if len(left) > 0 {
			g, left = left[0], left[1:]
		} else if !ended {
			var err error
			g, err = p.sel.next()
			ended = err != nil
		}
		return g
	}
	last := make(chan struct{}) // closed when the latest generation is cut
	close(last)
	for {
		for len(jobs) < workers {
			ctx, before, j := ctx, last, &job{cut: make(chan struct{}), d: make(chan *decoded, 1)}
			jobs, last = append(jobs, j), j.cut
			background.Go(func() {
				<-before
				j.gen = cut()
				close(j.cut)
				if j.gen == nil {
					j.d <- &decoded{}
					return
				}
				j.d <- p.decode(ctx, j.gen)
			})
		}
		j := jobs[0]
		d := <-j.d
		jobs = jobs[1:]
		switch {
		case p.ctx.Err() != nil:
			return context.Cause(p.ctx)
		case j.gen == nil:
			return nil
		case errors.Is(d.err, ErrMemory) && workers > 1:
			d.release()
			relieve()
			left = append([]*generation{j.gen}, left...)
			continue
		}
		if err := p.consume(j.gen, d); err != nil {
			return err
		}
	}
}

func (p *pass) decoding(ctx context.Context) *decoding {
	return &decoding{ctx: ctx, version: p.in.version, header: p.in.header, stacks: p.stacks, meter: p.meter, other: p.other}
}

func (p *pass) decode(ctx context.Context, g *generation) *decoded {
	if p.opt.decodes != nil {
		p.opt.decodes(g.index)
	}
	if g.cut != nil {
		return &decoded{} // see salvage: it needs the state at the end of the previous generation
	}
	dec := p.decoding(ctx)
	dec.size, dec.expect = g.size, int(p.expect.Load())
	d := dec.decode(g.open)
	p.expect.Store(int64(d.gs.n))
	return d
}

// consume replays a generation. A non-nil error ends the pass.
func (p *pass) consume(g *generation, d *decoded) error {
	err, at := g.cut, g.at
	if full := (*memoryError)(nil); errors.As(cmp.Or(d.err, err), &full) {
		full.read += g.off
		d.release()
		return p.failure(g, full, g.off, false)
	}
	if d.err != nil && err == nil {
		err, at = d.err, g.off
		if broken := (*wireformat.Error)(nil); errors.As(err, &broken) {
			at += broken.Offset
		}
		if g.last && p.in.source != nil && p.in.version < 26 {
			// These versions do not mark the end of a generation, so the trace may have
			// been truncated between two batches.
			err, at = fmt.Errorf("it is not complete (%w); perhaps the trace was cut off", d.err), g.off+g.size
		}
	}
	if err != nil && g.last && p.in.source != nil {
		if s := p.salvage(g); s != nil && (!d.hasReal || s.until > d.lastReal) {
			d.release()
			d = s
		}
	}
	p.replay.skip(g, d)
	p.replay.info.Bytes += g.size
	if full := p.generation(d); full != nil {
		full.read += g.off + g.size
		return p.failure(g, full, g.off, true)
	}
	if p.keep == nil || !p.keep(d) {
		d.release()
	}
	if p.opt.Progress != nil {
		p.opt.Progress(g.off+g.size, p.in.size)
	}
	if err == nil {
		return nil
	}
	return p.failure(g, err, at, d.hasReal)
}

// failure returns the error for a pass that ends in a generation. If partial is set, part of the
// generation was replayed.
func (p *pass) failure(g *generation, err error, at int64, partial bool) error {
	e := &Error{Name: p.opt.Name, Offset: at, Compressed: p.in.compressed, Generation: g.index, Err: err, Read: p.replay.info, Left: -1, Partial: partial}
	if p.in.size >= 0 {
		e.Left = p.in.size - g.off
	}
	return e
}

// runWhole decodes the whole trace with one Reader. Traces before Go 1.22 have no generations.
func (p *pass) runWhole() error {
	if n := p.opt.First; n > 1 {
		return p.wrong(fmt.Errorf("there is no generation %d: traces of %s have none", n, p.replay.info.GoVersion()))
	}
	d := p.other(p.decoding(p.ctx), func() io.Reader { return p.in.whole })
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	g := &generation{index: 1, off: headerSize, size: max(0, p.in.size-headerSize)}
	return p.consume(g, d)
}
