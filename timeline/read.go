package timeline

import (
	"bytes"
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
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Options are the choices of a pass. The zero value is right for most.
type Options struct {
	// Name is what errors call the input: a file's name, a URL.
	Name string
	// Workers is how many generations are decoded side by side, and so, with
	// the size of a generation, how much memory a pass takes. 0 means GOMAXPROCS, at most 8.
	// With 1, observers of [Beside] are not called on another goroutine either.
	Workers int
	// Progress is told after each generation how many bytes of how many (−1 = not known) are
	// done.
	Progress func(done, size int64)
	// MaxMemory bounds what the heap of the process may grow by during the pass, in bytes: one
	// that needs more ends with an error that is [ErrMemory], with what was replayed before.
	// Generations are decoded one after the other rather than side by side first. 0 means half
	// of the memory of the machine, or of the cgroup; less than 0 means that there is no limit.
	MaxMemory int64

	// Part is what to read of the trace, if not all of it.
	Part Part

	oneReader bool            // tests: decode the whole trace with one Reader
	decodes   func(index int) // tests: is told which generations are decoded
}

// ErrMemory is the error of a pass that would need more memory than Options.MaxMemory.
var ErrMemory = memory.ErrLimit

// memoryError says what a pass held when it came to its limit.
type memoryError struct {
	limit, read int64 // in bytes; read is how much of the trace was
	holds       string
}

func (e *memoryError) Error() string {
	return fmt.Sprintf("memory limit %s exceeded after reading %s of the trace: %s; raise it with -memory or Options.MaxMemory",
		memory.Text(e.limit), memory.Text(e.read), e.holds)
}

func (e *memoryError) Unwrap() error { return ErrMemory }

// Info sums up a pass.
type Info struct {
	Version     int   // of the trace format: 22 for Go 1.22; 0 if there was none
	Start, End  Time  // the first and last event that is not a mere status
	Generations int   // replayed
	Skipped     int   // generations before these, which were not decoded: see Part
	Events      int64 // decoded
	Goroutines  int   // seen
	MaxLive     int   // goroutines known at the same time
	Size        int64 // of the input in bytes, −1 if not known
	// Reordered counts transitions whose time was raised to that of the one before, of another
	// generation.
	Reordered int
	// InC is the time for which goroutines were in C code, summed: see State.IsC. GoroutinesInC
	// is their number.
	InC           Time
	GoroutinesInC int
	// Inconsistent counts events that contradict the state known before them.
	Inconsistent int
	// Notes says in sentences what else limits the trust in the pass.
	Notes []string
}

// GoVersion returns the version of the trace format as "go1.22", or "".
func (i *Info) GoVersion() string {
	if i == nil || i.Version == 0 {
		return ""
	}
	return fmt.Sprintf("go1.%d", i.Version)
}

// Warnings says in sentences what limits the trust in whatever was made of the pass, which ended
// with err: that the trace could not be read to its end, the Notes, and what was Inconsistent and
// Reordered. They name a file without the folders of this machine, since they are passed on with
// what was made.
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

// Duration returns the time that the trace covers.
func (i *Info) Duration() time.Duration { return time.Duration(i.End - i.Start) }

// Error says where and why a trace could not be read (to the end). What comes
// before Offset was shown to the observers.
type Error struct {
	Name       string // of the input
	Offset     int64  // in bytes; in the unpacked trace if it was compressed
	Compressed string // "gzip", "zstd" or ""
	Generation int    // from 1; 0 for the header
	Err        error  // what is wrong there
	// Read tells what was read before.
	Read Info
	// Left is the number of bytes from the beginning of the generation to the
	// end of the input, −1 if not known. None of them could be used, or some if Partial.
	Left    int64
	Partial bool
}

// Error says in which generation of which file reading ended, why, and how much was read before.
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
	if opt.Name == "" {
		opt.Name = name
	}
	return Read(ctx, f, opt, observers...)
}

// Read replays the trace in r to the observers, in the order of time, in one
// pass. r is read to its end; a regular file or an in-memory reader at its
// beginning is read with random access. A trace packed with gzip or zstd is unpacked.
//
// Read always returns an Info. When a trace is cut off or broken, the observers
// have seen what comes before, closed as if the trace ended there, and
// the error is an *[Error] that says where and what is missing. If nothing could be
// read, no method of an observer was called.
func Read(ctx context.Context, r io.Reader, opt Options, observers ...Observer) (*Info, error) {
	p, err := open(ctx, r, opt, anyFormat(), observers)
	if p.in != nil {
		defer p.in.close()
	}
	if err != nil {
		return &p.replay.info, err
	}
	err = p.all()
	return &p.replay.info, err
}

// open begins a pass.
func open(ctx context.Context, r io.Reader, opt Options, formats formats, observers []Observer) (*pass, error) {
	in, err := openInput(r, formats)
	if part := opt.Part; err == nil && !part.During.All() && (part.From > 0 || part.To > 0) {
		err = fmt.Errorf("a part of the time by the clock and one %s cannot be combined", part.During)
	}
	p := &pass{ctx: ctx, opt: opt, in: in, other: formats.other, stacks: newStackTable(), meter: memory.ForPass(ctx, opt.MaxMemory)}
	if s, ok := in.source.(*streamSource); ok {
		s.meter = p.meter
	}
	p.replay = newReplay(in.version, p.stacks, nil)
	p.replay.gate = newGate(opt.Part.During)
	p.replay.meter = p.meter
	p.single = p.workers() == 1
	p.joinAt(Second{Observers: observers})
	p.replay.info.Version, p.replay.info.Size = in.version, in.size
	if err != nil {
		p.replay.info = Info{Size: in.size}
		return p, &Error{Name: opt.Name, Compressed: in.compressed, Err: err}
	}
	return p, nil
}

// all reads the trace to its end.
func (p *pass) all() error {
	err := p.run()
	if err == nil && !p.replay.begun && p.sel != nil {
		if err = p.sel.missing(); err != nil {
			err = &Error{Name: p.opt.Name, Compressed: p.in.compressed, Err: err}
		}
	}
	if err == nil && !p.replay.begun {
		err = &Error{Name: p.opt.Name, Compressed: p.in.compressed, Err: errors.New("the trace has a header but no events; a trace is complete only after trace.Stop")}
	}
	if p.each((*replay).end); err == nil {
		if err = p.replay.gate.missing(); err != nil {
			p.replay.info = Info{Version: p.in.version, Size: p.in.size} // nothing was seen
			err = &Error{Name: p.opt.Name, Compressed: p.in.compressed, Err: err}
		}
	}
	return err
}

// pass reads one trace: a producer cuts it, workers decode generations side by
// side, and the calling goroutine replays them in order.
type pass struct {
	ctx    context.Context
	opt    Options
	in     *input
	stacks *stackTable
	sides
	meter  *memory.Meter
	keep   func(*decoded) bool // takes a generation over that was replayed, if there is to be a second pass
	orphan *generation         // was cut, but not put into the queue
	other  decodeFunc          // see formats
	sel    *selector
}

// job is a generation on its way through the pass.
type job struct {
	gen *generation
	d   chan *decoded
}

func (p *pass) workers() int {
	if p.opt.Workers > 0 {
		return p.opt.Workers
	}
	return min(8, runtime.GOMAXPROCS(0))
}

func (p *pass) run() error {
	if p.in.whole != nil || p.opt.oneReader {
		return p.runWhole()
	}
	p.sel = &selector{part: p.opt.Part, cut: &cutter{src: p.in.source, version: p.in.version, pos: headerSize}, births: births{}, stacks: p.stacks}
	cut := p.sel
	left, err := p.sideBySide(cut)
	if left == nil || err != nil {
		return err
	}
	for {
		var g *generation
		if len(left) > 0 {
			g, left = left[0], left[1:]
		} else if g, err = cut.next(); err != nil {
			return nil
		}
		d := p.decode(p.ctx, g)
		if err := p.ctx.Err(); err != nil {
			return context.Cause(p.ctx)
		}
		if err := p.consume(g, d); err != nil {
			return err
		}
	}
}

// sideBySide decodes generations side by side and replays them in order. If memory becomes scarce
// it stops that, and returns the generations that were cut but not replayed: not nil, even if there
// are none.
func (p *pass) sideBySide(cut *selector) (left []*generation, err error) {
	ctx, cancel := context.WithCancel(p.ctx)
	jobs := make(chan job, p.workers())
	tokens := make(chan struct{}, p.workers()) // held from the cut to the end of the replay: they bound the memory
	produced := make(chan struct{})
	background.Go(func() {
		defer close(produced)
		defer close(jobs)
		p.produce(ctx, cut, jobs, tokens)
	})
	stop := sync.OnceFunc(func() {
		cancel()
		for j := range jobs {
			(<-j.d).release()
			left = append(left, j.gen)
		}
		<-produced
		if p.orphan != nil {
			left = append(left, p.orphan)
		}
	})
	defer stop()
	scarce := false
	relieve := sync.OnceFunc(func() {
		scarce = true
		stop()
	})
	p.relieveBy(relieve)
	defer p.relieveBy(nil)
	for j := range jobs {
		d := <-j.d
		if err := p.ctx.Err(); err != nil {
			return nil, context.Cause(p.ctx)
		}
		if errors.Is(d.err, ErrMemory) && p.workers() > 1 {
			d.release()
			stop()
			return append([]*generation{j.gen}, left...), nil
		}
		if err := p.consume(j.gen, d); err != nil {
			return nil, err
		}
		if scarce {
			return append([]*generation{}, left...), nil
		}
		<-tokens
	}
	if err := p.ctx.Err(); err != nil {
		return nil, context.Cause(p.ctx)
	}
	return nil, nil
}

// produce cuts generations and starts their decoding.
func (p *pass) produce(ctx context.Context, cut *selector, jobs chan<- job, tokens chan struct{}) {
	for {
		select {
		case tokens <- struct{}{}:
		case <-ctx.Done():
			return
		}
		g, err := cut.next()
		if err != nil {
			return
		}
		j := job{gen: g, d: make(chan *decoded, 1)}
		background.Go(func() { j.d <- p.decode(ctx, g) })
		select {
		case jobs <- j:
		case <-ctx.Done():
			(<-j.d).release()
			p.orphan = g
			return
		}
	}
}

// decoder returns a decoder of a generation.
func (p *pass) decoder(ctx context.Context, g *generation) *wireDecoder {
	return &wireDecoder{decoding: decoding{ctx: ctx, stacks: p.stacks, meter: p.meter, size: g.size}, other: p.other}
}

// opener returns what a decoder opens.
func (p *pass) opener(g *generation) func() io.Reader {
	return func() io.Reader { return io.MultiReader(bytes.NewReader(p.in.header), g.open()) }
}

func (p *pass) decode(ctx context.Context, g *generation) *decoded {
	if p.opt.decodes != nil {
		p.opt.decodes(g.index)
	}
	if g.cut != nil {
		return &decoded{} // see salvage: it needs the state at the end of the generation before
	}
	return p.decoder(ctx, g).decode(p.opener(g))
}

// consume replays a generation and returns why the pass ends with it, if it does.
func (p *pass) consume(g *generation, d *decoded) error {
	err, at := g.cut, g.at
	if full := (*memoryError)(nil); errors.As(cmp.Or(d.err, err), &full) {
		full.read += g.off
		d.release()
		return p.failure(g, full, g.off, false)
	}
	if len(d.lost) > 0 && err == nil {
		if running := p.replay.runners(); d.knowsLost(running) {
			d.release()
			dec := p.decoder(p.ctx, g)
			dec.running = running
			d = dec.decode(p.opener(g))
		}
	}
	if d.err != nil && err == nil {
		err, at = d.err, g.off
		if broken := (*wireformat.Error)(nil); errors.As(err, &broken) {
			at += broken.Offset
		}
		if g.last && p.in.source != nil && p.in.version < 26 {
			// Nothing marks the end of a generation of these versions: this may be a
			// cut between two batches.
			err, at = fmt.Errorf("it is not complete (%w); perhaps the trace was cut off", d.err), g.off+g.size
		}
	}
	if err != nil && g.last && p.in.source != nil {
		if s := p.salvage(g); s != nil && s.events > d.events {
			d.release()
			d = s
		}
	}
	p.replay.skip(g, d)
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

// failure is why the pass ends in a generation, some of which may have been replayed.
func (p *pass) failure(g *generation, err error, at int64, partial bool) error {
	e := &Error{Name: p.opt.Name, Offset: at, Compressed: p.in.compressed, Generation: g.index, Err: err, Read: p.replay.info, Left: -1, Partial: partial}
	if p.in.size >= 0 {
		e.Left = p.in.size - g.off
	}
	return e
}

// runWhole decodes everything with one Reader: traces before Go 1.22 have no
// generations.
func (p *pass) runWhole() error {
	if n := p.opt.Part.First; n > 1 {
		return &Error{Name: p.opt.Name, Compressed: p.in.compressed, Err: fmt.Errorf("there is no generation %d: traces of %s have none", n, p.replay.info.GoVersion())}
	}
	d := p.other(decoding{ctx: p.ctx, stacks: p.stacks, meter: p.meter}, func() io.Reader { return io.MultiReader(bytes.NewReader(p.in.header), p.in.rest()) })
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	g := &generation{index: 1, off: headerSize, size: max(0, p.in.size-headerSize)}
	return p.consume(g, d)
}
