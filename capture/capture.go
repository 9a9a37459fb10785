// Package capture stores what a service did in the seconds before a slow request, a long wait for a
// lock, lost capacity, a queue of goroutines, a panic, a signal, or a call of Trigger.
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/capture"
//	)
//
//	func main() {
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		c := capture.New(capture.Options{Recorder: &rec, Sink: &capture.Dir{Path: "captures"}})
//		slow := c.SlowRequests(http.DefaultServeMux, time.Second)
//		log.Print(http.ListenAndServe("localhost:8080", slow))
//	}
//
// Start watches conditions, such as a queue of goroutines; requests, operations, panics and calls
// of Trigger need no Start. Option Captures of package exporters/live shows the captures.
//
// A capture holds the execution trace of the last seconds, its verdict as Markdown and JSON, the
// waits for wrapped locks, and the reason. By default, at least ten minutes pass between two
// captures; triggers in between are counted. A [Dir] bounds the number of captures and their bytes.
// Two modules of their own have interceptors for gRPC (exporters/grpc) and a Sink for object
// storage (exporters/blob).
//
// Cost: a suppressed Trigger takes about 15 ns. Watching a request takes 0.2 µs while it is too
// early for a capture, otherwise 0.6 µs (BenchmarkTrigger). A capture copies and analyzes the
// recording, which takes about 0.5 µs of CPU time per event. It uses a tenth of one processor, and
// at most Options.MaxMemory. "go run ./benchmarks/live -storm" measures a service with 10,000 slow
// requests per second.
package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/format"
	ofhost "github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/leaks"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a [Capturer]. Recorder and Sink must be set.
type Options struct {
	// Recorder has the last seconds of the program. A Capturer neither starts nor stops it.
	Recorder *bottle.Recorder
	// Sink stores the captures.
	Sink Sink
	// Every is the minimum time between the beginnings of two captures; after a failure, a tenth
	// of it is enough. 0 means 10 minutes.
	Every time.Duration

	// The following are the conditions for a capture that [Capturer.Start] watches. It checks them
	// once a second. A limit of 0 turns a condition off.

	// Lost is a limit for the part of the capacity that the program did not use during For, such as
	// 0.5; see bottle.Graph.Lost. Neck is the same without the time in which no goroutine ran, so
	// an idle service does not exceed it. They need Continuous.
	Neck, Lost float64
	// Runnable is a limit for the number of goroutines that are ready to run but have no processor.
	// All checks during For must exceed it.
	Runnable int
	// For is the time for which Neck, Lost and Runnable must hold. 0 means 5 s.
	For time.Duration
	// Wait is the least time that a goroutine must have waited for a wrapped lock. Waits of 10 ms
	// or more count while they are in progress, shorter ones when they have ended. It needs
	// Locks.
	Wait time.Duration
	// Signals trigger a capture, such as syscall.SIGUSR1. They lose their default effect; see
	// os/signal.
	Signals []os.Signal

	// Continuous, a *bottleneck.Continuous, is the analysis behind Lost and Neck.
	Continuous interface {
		Last(time.Duration) *bottleneck.Live
	}
	// Locks, if not nil, has the waits for wrapped locks, for Wait and the file locks.json of
	// each capture. It is usually a *contention.Collector that is on.
	Locks interface{ Snapshot() *contention.Profile }

	// CPU, if positive, adds a CPU profile of that length, taken after the trigger, unless the
	// program is already being profiled.
	CPU time.Duration
	// Leaks adds the runtime's profile of goroutines that wait forever, where the runtime has it
	// (Go 1.27). It takes a garbage collection.
	Leaks bool
	// NoVerdict stores the trace without analyzing it.
	NoVerdict bool
	// MaxMemory bounds the memory of a capture in bytes: the copy of the recording, and the growth
	// of the heap during the analysis. 0 means 256 MB. A larger recording is not taken, and one
	// whose analysis needs more is stored without a verdict.
	MaxMemory int64

	// Version is the version of the service. "" means that of the program's main module.
	Version string
	// Labels are stored with each capture, such as the region of the service.
	Labels map[string]string
}

// Capturer takes captures. Its methods are safe for concurrent use.
type Capturer struct {
	opt      Options
	born     time.Time
	next     atomic.Int64 // when the next capture may be taken, since born; 0: now; math.MaxInt64: one is taken
	early    atomic.Int64 // while one is taken, when the next may be taken at the earliest
	taking   sync.Mutex   // held from the admission of a capture until it is stored
	captured atomic.Int64
	ignored  atomic.Int64
	failed   atomic.Int64
	bytes    atomic.Int64
	work     atomic.Int64 // ns

	mu       sync.Mutex // guards the fields below
	storing  bool       // the Sink has not returned from its last call
	last     Info
	lastErr  error
	reported int64         // triggers suppressed up to the last capture
	hurry    chan struct{} // closed by Stop: no more rests
	watched  chan struct{} // closed when the watching has ended; nil if there is none
}

// Stats counts what a Capturer did since it was made.
type Stats struct {
	// Captured is the number of captures that were stored, with Bytes bytes.
	Captured, Bytes int64
	// Suppressed is the number of triggers that came too early after the last capture.
	Suppressed int64
	// Failed is the number of captures that could not be taken or stored, and of checks of
	// conditions that panicked. LastError is the latest error.
	Failed    int64
	LastError error
	// Work is the time spent on copying, analyzing and storing. It excludes the rests.
	Work time.Duration
	// Last describes the last capture that was stored.
	Last Info
}

// Info describes a capture. It is the file capture.json.
type Info struct {
	Name      string            `json:"name"`
	Reason    string            `json:"reason"`
	Time      time.Time         `json:"time"` // of the trigger
	Host      string            `json:"host,omitempty"`
	PID       int               `json:"pid"`
	Version   string            `json:"version,omitempty"`
	GoVersion string            `json:"go_version"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Finding is the first sentence of the verdict, and Where its place in the code.
	Finding string `json:"finding,omitempty"`
	Where   string `json:"where,omitempty"`
	// Latency is the histogram of scheduling latencies in the trace, if it was analyzed.
	Latency *bottle.Latency `json:"latency,omitempty"`
	// Suppressed is the number of triggers without a capture since the last one.
	Suppressed int64 `json:"suppressed"`
	// Files are the names of the other files, and Bytes is their size.
	Files []string `json:"files"`
	Bytes int64    `json:"bytes"`
	// Problems lists what is missing from the capture, with the reasons.
	Problems []string `json:"problems,omitempty"`
}

// The files of a capture.
const (
	InfoFile    = "capture.json" // an Info
	TraceFile   = "program.trace"
	VerdictFile = "verdict.md"
	VerdictJSON = "verdict.json" // a verdict.Verdict
	LocksFile   = "locks.json"   // a contention.Profile
	ProfileFile = "cpu.pb.gz"
	LeaksFile   = "leaks.pb.gz"
)

const (
	maxReason    = 200 // bytes
	defaultEvery = 10 * time.Minute
)

// New returns a Capturer. It panics if opt.Recorder or opt.Sink is nil.
func New(opt Options) *Capturer {
	if opt.Recorder == nil || opt.Sink == nil {
		panic("capture: New needs Options.Recorder and Options.Sink")
	}
	if opt.Every <= 0 {
		opt.Every = defaultEvery
	}
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = 256 << 20
	}
	if opt.For <= 0 {
		opt.For = 5 * time.Second
	}
	if b, ok := debug.ReadBuildInfo(); ok && opt.Version == "" {
		opt.Version = b.Main.Version
	}
	opt.Labels = maps.Clone(opt.Labels)
	return &Capturer{opt: opt, born: time.Now(), hurry: make(chan struct{})}
}

// Trigger starts a capture in the background. It returns false if it does not, because the latest
// one began less than Options.Every ago or is not stored yet. The reason is shown with the capture.
func (c *Capturer) Trigger(reason string) bool {
	if !c.admit() {
		return false
	}
	c.takeLater(reason)
	return true
}

// takeLater takes a capture in the background, on a goroutine that traces do not count as one of
// the program.
func (c *Capturer) takeLater(reason string) {
	background.Go(func() { c.take(reason, true) })
}

// admit reports whether a capture may be taken now. If so, the caller must call take or takeLater.
// Otherwise, it has read no clock and taken no lock.
func (c *Capturer) admit() bool {
	if c.next.Load() != 0 || !c.next.CompareAndSwap(0, math.MaxInt64) { // until it is stored
		c.ignored.Add(1)
		return false
	}
	c.early.Store(int64(time.Since(c.born) + c.retry()))
	c.taking.Lock()
	return true
}

// admitAt makes the next capture possible at a time since c was made.
func (c *Capturer) admitAt(at time.Duration) {
	c.next.Store(int64(max(1, at)))
	if !c.due() {
		time.AfterFunc(at-time.Since(c.born), func() { c.due() })
	}
}

// due makes the next capture possible if it is time, and reports whether it is.
func (c *Capturer) due() bool {
	next := c.next.Load()
	return int64(time.Since(c.born)) >= next && (next == 0 || c.next.CompareAndSwap(next, 0))
}

// retry returns the minimum time between a capture that failed and the next.
func (c *Capturer) retry() time.Duration {
	return min(c.opt.Every, max(c.opt.Every/10, time.Second))
}

// Stats returns the counters.
func (c *Capturer) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		Captured: c.captured.Load(), Bytes: c.bytes.Load(), Suppressed: c.ignored.Load(),
		Failed: c.failed.Load(), LastError: c.lastErr, Work: time.Duration(c.work.Load()), Last: c.last,
	}
}

// Counts returns Captured, Suppressed and Failed of Stats.
func (c *Capturer) Counts() (stored, suppressed, failed int64) {
	return c.captured.Load(), c.ignored.Load(), c.failed.Load()
}

// take takes a capture and stores it. A gentle one rests during the analysis.
func (c *Capturer) take(reason string, gentle bool) {
	defer c.taking.Unlock()
	begin, ignored := time.Now(), c.ignored.Load()
	info, err := c.store(reason, begin, ignored, gentle)
	every := c.opt.Every
	if err != nil {
		every = c.retry()
	}
	defer func() { c.admitAt(begin.Add(every).Sub(c.born)) }()
	if err != nil {
		c.fail(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.captured.Add(1)
	c.bytes.Add(info.Bytes)
	c.last, c.reported = info, ignored
}

// fail counts a failure. It logs a panic, unless the failure before was the same.
func (c *Capturer) fail(err error) {
	c.failed.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.As(err, new(panicError)) && (c.lastErr == nil || c.lastErr.Error() != err.Error()) {
		log.Print("bottleneck: ", err)
	}
	c.lastErr = err
}

// panicError is a panic of code that the user provides.
type panicError string

func (e panicError) Error() string { return string(e) }

// protect calls f and returns its error, or its panic as an error.
func protect(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError("capture: panic of " + what + ": " + short(fmt.Sprint(v)))
		}
	}()
	return f()
}

// store makes the files of a capture and gives them to the sink. ignored is the number of triggers
// suppressed so far.
func (c *Capturer) store(reason string, now time.Time, ignored int64, gentle bool) (info Info, err error) {
	p := &pacer{Context: context.Background(), c: c, gentle: gentle, mark: now}
	defer func() { c.work.Add(int64(time.Since(now) - p.rested)) }()
	c.mu.Lock()
	stuck := c.storing
	c.mu.Unlock()
	if stuck {
		return info, errors.New("capture: Options.Sink has not returned from an earlier capture")
	}
	trace, err := c.recorded(p)
	if err != nil {
		return info, fmt.Errorf("capture: taking the trace: %w", err)
	}
	host, _ := os.Hostname()
	info = Info{
		Reason: short(reason), Time: now, Host: host, PID: os.Getpid(),
		Version: c.opt.Version, GoVersion: runtime.Version(), Labels: c.opt.Labels,
	}
	info.Name = name(&info)
	c.mu.Lock()
	info.Suppressed = ignored - c.reported
	c.mu.Unlock()

	var files []File
	missing := func(what string, err error) {
		info.Problems = append(info.Problems, format.Clean(fmt.Sprintf("no %s: %v", what, err)))
	}
	add := func(name string, write func(w io.Writer) error) {
		var b bytes.Buffer
		if err := protect(name, func() error { return write(&b) }); err != nil {
			missing(name, err)
			return
		}
		files = append(files, File{Name: name, Size: int64(b.Len()), Data: &b})
	}
	if d := c.opt.CPU; d > 0 && gentle {
		add(ProfileFile, func(w io.Writer) error {
			if err := pprof.StartCPUProfile(w); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
			p.sleep(d)
			return nil
		})
	}
	if c.opt.Leaks {
		add(LeaksFile, func(w io.Writer) error {
			profile, err := leaks.Profile()
			if err != nil {
				return err
			}
			return profile.WriteTo(w, 0)
		})
	}
	if c.opt.Locks != nil {
		add(LocksFile, func(w io.Writer) error { return contention.WriteJSON(w, c.opt.Locks.Snapshot()) })
	}
	if !c.opt.NoVerdict {
		opt := bottleneck.Options{Want: bottleneck.WantVerdict, Workers: 1, MaxMemory: max(1, c.opt.MaxMemory-trace.Size()), Last: c.opt.Recorder.Window(), CPUs: ofhost.Processors()}
		if gentle {
			opt.Observers = []timeline.Observer{p}
		}
		p.mark = time.Now()
		rep, err := bottleneck.AnalyzeRecorder(p, trace, opt)
		if err != nil {
			missing("complete verdict", err)
		}
		if rep != nil && rep.Verdict != nil {
			v := rep.Verdict
			if len(v.Findings) > 0 {
				info.Finding = v.Findings[0].Title
				if places := v.Findings[0].Where; len(places) > 0 {
					info.Where = places[0].String()
				}
			}
			latency := rep.Bottle.Latency // a pointer into the graph would keep all of it
			info.Latency = &latency
			add(VerdictFile, func(w io.Writer) error {
				err := text.VerdictMarkdown(w, v)
				if s := info.Latency.String(); s != "" && err == nil {
					_, err = io.WriteString(w, "\n"+s+"\n")
				}
				return err
			})
			add(VerdictJSON, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
		}
	}
	files = append(files, File{Name: TraceFile, Size: trace.Size(), Data: trace})
	for _, f := range files {
		info.Files = append(info.Files, f.Name)
		info.Bytes += f.Size
	}
	data, err := json.MarshalIndent(&info, "", "  ")
	if err != nil {
		return info, fmt.Errorf("capture: %w", err)
	}
	data = append(data, '\n')
	files = append(files, File{Name: InfoFile, Size: int64(len(data)), Data: bytes.NewReader(data)})
	if err := c.hand(info.Name, files, gentle); err != nil {
		return info, fmt.Errorf("capture: storing %s: %w", info.Name, err)
	}
	return info, nil
}

var ( // replaced by tests
	lastChance = 10 * time.Second // for the Sink after Stop, or while a panic waits
	abandon    = time.Second      // for the Sink to return after its context is done
)

// hand gives the files to the Sink, and returns even if the Sink does not.
func (c *Capturer) hand(name string, files []File, gentle bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), max(c.opt.Every, time.Minute))
	defer cancel()
	c.mu.Lock()
	c.storing = true
	hurry := c.hurry
	c.mu.Unlock()
	done := make(chan error, 1)
	background.Go(func() {
		err := errors.New("Options.Sink ended its goroutine")
		defer func() {
			c.mu.Lock()
			c.storing = false
			c.mu.Unlock()
			done <- err
		}()
		err = protect("Options.Sink", func() error { return c.opt.Sink.Store(ctx, name, files) })
	})
	if !gentle {
		hurry = make(chan struct{})
		close(hurry)
	}
	var abandoned <-chan time.Time
	for expired := ctx.Done(); ; {
		select {
		case err := <-done:
			return err
		case <-hurry:
			hurry = nil
			defer time.AfterFunc(lastChance, cancel).Stop()
		case <-expired:
			expired, abandoned = nil, time.After(abandon)
		case <-abandoned:
			return fmt.Errorf("Options.Sink does not return: %w", ctx.Err())
		}
	}
}

// copying is a context that makes the copying of a recording rest, and ends it if the recording is
// too large.
type copying struct {
	*pacer
	most int64
	buf  *snapshot.Buffer
}

func (c *copying) Err() error {
	if c.buf.Size() > c.most {
		return fmt.Errorf("the recording is larger than Options.MaxMemory, %d bytes", c.most)
	}
	return c.pacer.Err()
}

// recorded takes the trace. If others are taking one, it waits for up to two seconds.
func (c *Capturer) recorded(p *pacer) (trace *snapshot.Buffer, err error) {
	for range 20 {
		ctx := &copying{pacer: p, most: c.opt.MaxMemory}
		trace = snapshot.New(ctx)
		ctx.buf = trace
		if _, err = c.opt.Recorder.WriteTo(trace); !errors.Is(err, bottle.ErrBusy) {
			break
		}
		p.sleep(100 * time.Millisecond)
	}
	return trace, err
}

// short makes one line of a reason.
func short(reason string) string {
	reason = format.Clean(reason)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
}

// name returns the name of a capture, a valid file name on all systems. Names sort by time and are
// unique within the process.
func name(info *Info) string {
	word := func(s string, most int) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
				return r
			}
			return '-'
		}, s)
		return strings.Trim(s[:min(len(s), most)], "-")
	}
	return fmt.Sprintf("%s-%s-%d-%s", info.Time.UTC().Format("20060102T150405.000000Z"), word(info.Host, 30), info.PID, word(info.Reason, 40))
}

// A gentle analysis works for workSlice, and then rests for restFactor times as long: it takes a
// tenth of one processor, and others wait for that processor for workSlice at most.
const (
	workSlice  = 250 * time.Microsecond
	restFactor = 9
)

// pacer makes an analysis rest, until Stop. It is an observer, and a context whose Err the decoder
// calls every few hundred events.
type pacer struct {
	timeline.Base
	context.Context
	c      *Capturer
	gentle bool
	events int

	mu     sync.Mutex
	mark   time.Time // when the last rest ended
	rested time.Duration
}

func (p *pacer) Transition(*timeline.Transition) {
	if p.events++; p.events%128 == 0 {
		p.breathe()
	}
}

func (p *pacer) Err() error {
	p.breathe()
	return p.Context.Err()
}

func (p *pacer) breathe() {
	if !p.gentle {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := time.Since(p.mark); d > workSlice {
		p.sleep(min(restFactor*d, time.Second))
	}
}

// sleep sleeps, unless Stop is called.
func (p *pacer) sleep(d time.Duration) {
	p.c.mu.Lock()
	hurry := p.c.hurry
	p.c.mu.Unlock()
	begin := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-hurry:
	}
	p.mark = time.Now()
	p.rested += p.mark.Sub(begin)
}
