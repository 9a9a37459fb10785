package timeline

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// How goroutines are named.
//
// The start function of a goroutine often does not describe its purpose: goroutines of a pool start
// in its worker, and "go f(x)" in g, where f is a variable, in the compiler-generated g.gowrap1. The
// name of a goroutine is the outermost function in its call chains that is none of these:
//
//   - a compiler-generated wrapper,
//   - a function of the standard library, or of a library that is known to start goroutines for
//     others,
//   - a function of another module if a function of the program is further in: no module can
//     import the program, so that function was called through a function value,
//   - a launcher: a function that calls several functions through function values, other than
//     main.main, benchmarks and tests.
//
// If there is none, it is the name of the other goroutines started by the same go statement, if they
// have only one, and otherwise the place of the statement: "main.run:57 (go)".
//
// A call is through a function value, or an interface method, if one call instruction reaches
// several functions, if the callee is a function literal of another function, or if the callee is
// in package main, which no other package can import. Frames of the launcher's own package between
// the launcher and such a call belong to the launcher, unless the package is main.
//
// A goroutine that does several such things, such as the worker of a pool, gets the name of the
// launcher, or of the place of the go statement if the launcher belongs to a library. If it belongs
// to the standard library, as package testing does, the goroutine keeps its first name. A library
// goroutine that reads by itself and calls functions of the program is a server goroutine: each of
// its running intervals is named by what the call chains at its ends and in between show; see
// server.
//
// A goroutine that is older than the trace and does not block has the name of the outermost function
// in which it was stopped, if that is always the same, and the Info has a note: the runtime may have
// lost the caller of the function that it stopped.
//
// What a generation (about a second) shows applies from its beginning. It does not change what was
// shown before, because observers cannot remove a goroutine from its group.

// calls is what a call chain shows about the launcher and the purpose of its goroutine. Call chains
// that show the same share one calls.
type calls struct {
	root  string // the outermost function
	first *Frame // the outermost frame that is not transparent; nil if there is none
	steps []step // the calls from there
	// own is the outermost frame of the program's own modules if first belongs to another
	// module; else nil.
	own     *Frame
	further []step // the calls from there
	// reads is set if the goroutine belongs to a library and reads, other than to start
	// goroutines for others.
	reads bool
	// unsure is set if the goroutine was stopped in first, whose caller may be missing.
	unsure bool
}

// step is a call from a frame that may be that of a launcher.
type step struct {
	from    *Frame // the launcher
	at      *Frame // the calling frame: from, or one of the same package
	to      *Frame
	byValue bool // the names show that the call is through a function value
	passes  bool // from is a handler of net/http or gRPC that calls the next one, like middleware
	// unsure is set if the goroutine was stopped in function to, and the names do not show the
	// call: the chain lacks the caller of a function without a stack frame.
	unsure bool
}

// maxSteps bounds the depth of launchers that start each other.
const maxSteps = 6

// callsOf returns what the frames show. It returns nil if they show only a root that belongs to the
// program, or if the root may be cut off.
func (t *stackTable) callsOf(frames []*Frame) *calls {
	n := len(frames)
	if n == 0 || n >= maxFrames {
		return nil
	}
	for n > 1 && (frames[n-1].Func == "runtime.goexit" || frames[n-1].Func == "runtime.main") {
		n-- // only samples of the CPU profiler have these frames
	}
	i := n - 1
	for i >= 0 && frames[i].its().Transparent {
		i--
	}
	root := frames[n-1]
	var stopped *Frame
	if code := (&Stack{Frames: frames}).Code(); len(code) < len(frames) && strings.HasPrefix(frames[0].Func, asyncPreempt) {
		stopped = code[0]
	}
	c := calls{root: root.Func}
	if i >= 0 {
		c.first = frames[i]
		c.steps = follow(frames, i)
		if c.first.its().Foreign {
			for i >= 0 && (frames[i].its().Foreign || frames[i].its().Transparent) {
				i--
			}
			if i >= 0 {
				c.own = frames[i]
				c.further = follow(frames, i)
			}
		}
		for _, steps := range [][]step{c.steps, c.further} {
			if n := len(steps); n > 0 {
				steps[n-1].unsure = steps[n-1].to == stopped && !steps[n-1].byValue
			}
		}
		c.unsure = c.first == stopped && c.first != root
	}
	// The root does not start goroutines for others, no frame belongs to the program, and the
	// call chain reads.
	c.reads = c.own == nil && (c.first == nil || c.first.its().Foreign) && !root.its().Adapter && !starter.Is(root.Func) && reach(frames, polling)
	if len(c.steps) == 0 && c.own == nil && c.first == root && !c.reads {
		return nil
	}
	return t.share(&c)
}

// polling is the prefix of functions in call chains that read from a file or the network.
var polling = []string{"internal/poll.(*FD).Read"}

// reach reports whether a name in a call chain begins with one of the prefixes.
func reach(frames []*Frame, prefixes []string) bool {
	return slices.ContainsFunc(frames, func(f *Frame) bool { return begins(f.Func, prefixes...) })
}

// share returns the canonical calls equal to c.
func (t *stackTable) share(c *calls) *calls {
	key := append(t.key[:0], c.root...)
	for _, f := range []*Frame{c.first, c.own} {
		if key = append(key, '|'); f != nil {
			key = append(key, f.Func...)
		}
	}
	if c.reads {
		key = append(key, 'r')
	}
	if c.unsure {
		key = append(key, 'u')
	}
	for _, steps := range [][]step{c.steps, c.further} {
		for i := range steps {
			s := &steps[i]
			key = binary.NativeEndian.AppendUint64(append(key, '|'), uint64(uintptr(unsafe.Pointer(s.at))))
			if key = append(key, s.to.Func...); s.unsure {
				key = append(key, '?')
			}
		}
		key = append(key, '|')
	}
	t.key = key
	if old := t.calls[string(key)]; old != nil {
		return old
	}
	t.calls[string(key)] = c
	return c
}

// follow returns the calls that frame i may have made as a launcher, and those by the callees.
func follow(frames []*Frame, i int) (steps []step) {
	if i+1 < len(frames) && starter.IsTester(frames[i+1].Func) {
		return nil
	}
	at := func(i int) (string, starter.Role) { return frames[i].Func, frames[i].its().Role }
	for len(steps) < maxSteps {
		from := frames[i]
		if j := starter.Next(len(frames), i, at); j >= 0 {
			steps = append(steps, step{from: from, at: frames[j+1], to: frames[j], byValue: true, passes: true})
			i = j
			continue
		}
		pkg := from.pkg()
		for j := i; ; {
			k := starter.Callee(j, at)
			if k < 0 {
				return steps
			}
			leaves := !isWithin(frames[k].pkg(), pkg)
			if j == i || leaves {
				steps = append(steps, step{from: from, at: frames[j], to: frames[k], byValue: isByValue(frames[j], frames[k])})
				if steps[len(steps)-1].byValue {
					i = k
					break
				}
				if pkg == "main" || leaves {
					return steps
				}
			}
			j = k // find the call that leaves the package
		}
	}
	return steps
}

// isByValue reports whether the names of caller and callee show that the call was through a
// function value.
func isByValue(from, to *Frame) bool {
	if to.pkg() == "main" && from.pkg() != "main" || from.its().Foreign && !to.its().Foreign {
		return true
	}
	enclosing := to.enclosing()
	if enclosing == to.Func {
		return false
	}
	caller := from.enclosing()
	// Otherwise it is the caller's own literal, or one of a function inlined in it.
	return enclosing != caller && !strings.HasPrefix(enclosing, caller+".")
}

// isWithin reports whether path is the import path pkg or a path below it.
func isWithin(path, pkg string) bool {
	return path == pkg || strings.HasPrefix(path, pkg) && path[len(pkg)] == '/'
}

// role is the classification of a frame by its names, computed once for the frames of a trace.
type role struct {
	starter.Role
	known bool
}

func roleOf(f *Frame) role { return role{starter.RoleOf(f.Func, f.File), true} }

// its returns the role of f. It is cached only for frames of a trace.
func (f *Frame) its() role {
	if f.role.known {
		return f.role
	}
	return roleOf(f)
}

func (f *Frame) pkg() string       { return f.Func[:f.its().Package] }
func (f *Frame) enclosing() string { return f.Func[:f.its().Enclosing] }

// server describes how the goroutine of a connection or stream is named:
//
//   - The handler, while one runs: in intervals that begin or end in it, or in which it is seen.
//   - "net/http.(*conn).serve (reading)" while it reads a request or waits for one, until it closes
//     the connection.
//   - "net/http.(*conn).serve" for intervals that end elsewhere: a handler may have run, but no
//     call chain shows which.
//
// Server goroutines of other libraries have no server. They are detected by call chains that read
// from a file or the network (calls.reads).
type server struct {
	start   []string // prefixes of start functions
	reading []string // prefixes of functions in its call chains while it handles no request
}

var servers = []server{
	{
		[]string{"net/http.(*conn).serve"},
		[]string{"net/http.(*connReader).Read", "net/http.(*conn).readRequest", "crypto/tls.(*Conn).Handshake", "net/http.(*conn).close", "net/http.(*conn).setState", "net/http.(*http2serverConn).", "net/http/internal/http2."},
	},
	{
		[]string{"google.golang.org/grpc.(*Server).serveStreams.func", "google.golang.org/grpc.(*Server).serverWorker"},
		[]string{"google.golang.org/grpc.recv", "google.golang.org/grpc.(*parser).recvMsg", "runtime.chanrecv"},
	},
}

func serverOf(start string) *server {
	for i := range servers {
		if begins(start, servers[i].start...) {
			return &servers[i]
		}
	}
	return nil
}

// naming is the knowledge of a pass about launchers and names.
type naming struct {
	learned   map[*calls]bool
	callees   map[*Frame]*callees          // by calling frame
	launchers map[string]*callees          // by function: its callees through function values
	starts    map[string]bool              // start functions that called a function of the program
	hosts     map[string]bool              // functions of other modules that called one of the program
	reads     map[string]bool              // start functions of libraries that read by themselves
	stopped   map[string]map[string]string // by root and function in which a goroutine of it was stopped: see lookInside
	sites     map[*Frame]string            // the name of the goroutines started there, or several
	places    map[*Frame]string            // the names of these places

	started map[string]*start // by name
	bases   map[basis]*basis
	latest  *basis // used

	// Of the current generation:
	number int      // 1 for the first generation, and so on
	byName []*start // by local number of the start function's name
	// tracked describes the goroutines of servers, by local number; nil if there are none.
	tracked []trackedG
	// next holds the call chain that names each running interval of the tracked goroutines, in
	// the order of their beginnings.
	next    []int32
	memo    []shown  // by local number of the call chain
	turned  int      // number of intervals of next that have begun
	sitesAt []siteAt // by local number of the call chain
}

// trackedG is the state of lookAhead for a goroutine. −1 means none.
type trackedG struct {
	serves bool
	// first is the call chain at the end of what it did at the beginning of the generation.
	first int32
	// resume is the call chain in which its latest running interval ended, if it shows a handler,
	// which the next interval then continues.
	resume int32
	// begin and latest are the indexes in next of its first and latest running interval.
	begin, latest int32
}

// siteAt is the place where a go statement, given by its call chain, started goroutines of a start
// function.
type siteAt struct {
	start *start
	frame *Frame
}

// start is a start function with its classification.
type start struct {
	name      string
	kind      Kind
	wrapper   bool // compiler-generated
	goWrapper bool
	frame     *Frame
	server    *server // nil if it is not one of servers
	class     startClass
	number    int    // of the generation for which class is valid
	reading   string // its name while it reads
}

type callees struct {
	first   string
	several bool
	sure    bool // some call was not unsure
}

func (c *callees) add(fn string) {
	c.first = cmp.Or(c.first, fn)
	c.several = c.several || c.first != fn
}

// several stands for names that differ. No function has this name.
const several = "\x00"

// shown is the name that a call chain shows for its goroutine.
type shown struct {
	name   string // the function called by the launcher; "" if there is none
	own    string // otherwise the launcher
	looked bool
	// For servers: whether the call chain reads, valid if served.
	served, reads bool
}

func newNaming() naming {
	return naming{
		learned: map[*calls]bool{}, callees: map[*Frame]*callees{}, launchers: map[string]*callees{},
		starts: map[string]bool{}, hosts: map[string]bool{}, reads: map[string]bool{}, stopped: map[string]map[string]string{}, sites: map[*Frame]string{}, places: map[*Frame]string{}, started: map[string]*start{},
		bases: map[basis]*basis{}, latest: &basis{},
	}
}

// start returns the start function with the name.
func (n *naming) start(name string) *start {
	name = strings.TrimSuffix(name, "-fm")
	s := n.started[name]
	if s == nil {
		f := &Frame{Func: name}
		f.role = roleOf(f)
		s = &start{name: name, kind: kindOf(name), wrapper: symbol.IsWrapper(name, ""), goWrapper: symbol.IsGoWrapper(name), frame: f, server: serverOf(name), reading: name + reading}
		n.started[name] = s
	}
	return s
}

// asyncPreempt begins the functions at the leaf of the call chain of a goroutine that was stopped.
const asyncPreempt = "runtime.asyncPreempt"

// learn adds what the call chains of a generation show about launchers. Unsure calls count only if no
// other one was seen at the same place.
func (n *naming) learn(stacks []*Stack) {
	var unsure []*step
	for _, s := range stacks {
		c := s.calls
		if c == nil || n.learned[c] {
			continue
		}
		n.learned[c] = true
		if c.first != nil && c.first.Func != c.root {
			n.starts[c.root] = true
		}
		if c.own != nil {
			n.hosts[c.first.Func] = true
		}
		if c.reads {
			n.reads[c.root] = true
		}
		if c.unsure {
			if n.stopped[c.root] == nil {
				n.stopped[c.root] = map[string]string{}
			}
			n.stopped[c.root][c.first.Func] = ""
		}
		for _, steps := range [][]step{c.steps, c.further} {
			for i := range steps {
				if s := &steps[i]; s.unsure {
					unsure = append(unsure, s)
				} else {
					n.learnStep(s)
				}
			}
		}
	}
	for _, s := range unsure {
		if c := n.callees[s.at]; c == nil || !c.sure {
			n.learnStep(s)
		}
	}
	for _, s := range stacks {
		n.lookInside(s)
	}
}

// lookInside notes, for functions in which goroutines were stopped and whose caller may be missing
// in their call chains, the function that the outermost one of other call chains is; several if
// these differ.
func (n *naming) lookInside(s *Stack) {
	c := s.calls
	if c == nil || c.unsure || c.first == nil || n.stopped[c.root] == nil {
		return
	}
	in := n.stopped[c.root]
	for _, f := range s.Frames {
		if f == c.first {
			return
		}
		switch name, ok := in[f.Func]; {
		case !ok:
		case name == "":
			in[f.Func] = c.first.Func
		case name != c.first.Func:
			in[f.Func] = several
		}
	}
}

func (n *naming) learnStep(s *step) {
	c := n.callees[s.at]
	if c == nil {
		c = &callees{}
		n.callees[s.at] = c
	}
	c.sure = c.sure || !s.unsure
	c.add(s.to.Func)
	if c.several {
		n.calls(s.from.Func, c.first)
	}
	if c.several || s.byValue {
		n.calls(s.from.Func, s.to.Func)
	}
}

func (n *naming) calls(launcher, callee string) {
	c := n.launchers[launcher]
	if c == nil {
		c = &callees{}
		n.launchers[launcher] = c
	}
	c.add(callee)
}

func (n *naming) isLauncher(fn string) bool {
	c := n.launchers[fn]
	return c != nil && c.several && fn != "main.main"
}

// show returns what a call chain shows about its goroutine.
func (n *naming) show(c *calls) shown {
	if c == nil || c.first == nil {
		return shown{looked: true}
	}
	cur, steps := c.first, c.steps
	if c.own != nil {
		cur, steps = c.own, c.further
	}
	for i := range steps {
		s := &steps[i]
		if s.from != cur {
			continue
		}
		if !n.isLauncher(cur.Func) && !s.passes {
			break
		}
		if at := n.callees[s.at]; s.byValue || at != nil && at.several && !(s.unsure && at.sure) {
			cur = s.to
		}
	}
	return n.shown(cur.Func)
}

// shown returns what a call chain shows if fn is its outermost function that can be a name.
func (n *naming) shown(fn string) shown {
	if n.isLauncher(fn) || n.hosts[fn] {
		return shown{own: fn, looked: true}
	}
	return shown{name: fn, looked: true}
}

// ofLibrary reports whether a launcher belongs to another module than the program.
func (n *naming) ofLibrary(launcher string) bool {
	return n.hosts[launcher] || starter.Is(launcher) && !symbol.IsStandard(symbol.Package(launcher))
}

// startClass classifies start functions by their use as a name.
type startClass uint8

const (
	unclassed startClass = iota
	telling              // the start function is the name
	behind               // the name is that of a function that it calls
	// The name is the start function: it belongs to the standard library, and no function of
	// the program is further in.
	library
	serving
)

// startAt returns the start function whose name has the local number.
func (r *replay) startAt(name int32) *start {
	if r.byName[name] == nil {
		r.byName[name] = r.start(r.d.names[name])
	}
	return r.byName[name]
}

// classOf returns the class of a start function, as known in the current generation.
func (n *naming) classOf(s *start) startClass {
	if s.number != n.number || s.class == unclassed {
		s.number = n.number
		switch {
		case s.server != nil, n.reads[s.name] && (n.starts[s.name] || n.hosts[s.name]):
			s.class = serving
		case s.wrapper, starter.Is(s.name), n.isLauncher(s.name), n.hosts[s.name]:
			s.class = behind
		case !s.frame.its().Transparent:
			s.class = telling
		case n.starts[s.name]:
			s.class = behind
		default:
			s.class = library
		}
	}
	return s.class
}

// rootOf returns the outermost function of the call chains of a goroutine, or "" if unknown.
func (r *replay) rootOf(st *start, l *localG) string {
	if !st.wrapper {
		return st.name
	}
	// A wrapper does not appear in call chains.
	for pass := range 2 {
		for k, byItself := range r.d.shownOf(l) {
			// If the goroutine was stopped, the caller of the leaf may be missing.
			if byItself || pass == 1 && len(r.d.stacks[k].Frames) > 1 {
				if root := r.d.stacks[k].Root().Func; root != "" {
					return root
				}
			}
		}
	}
	return ""
}

// shownOf returns the local numbers of the call chains noted for a goroutine.
func (d *decoded) shownOf(l *localG) iter.Seq2[int32, bool] {
	return func(yield func(stack int32, byItself bool) bool) {
		if l.shown < 0 || !yield(l.shown>>1, l.shown&1 != 0) {
			return
		}
		for _, v := range d.othersOf(l) {
			if !yield(v>>1, v&1 != 0) {
				return
			}
		}
	}
}

// shownBy returns the name that those call chains of a goroutine with the given root show (several
// if they differ, "" if there is none), the first of these names, and the launcher.
func (r *replay) shownBy(root string, l *localG) (name, first, launcher string) {
	if root == "" {
		return "", "", ""
	}
	for pass := range 2 {
		for k := range r.d.shownOf(l) {
			s := r.d.stacks[k]
			if s.calls != nil && s.calls.root != root || s.calls == nil && s.Root().Func != root || (s.calls != nil && s.calls.unsure) != (pass == 1) {
				continue
			}
			v := r.shownIn(k)
			switch {
			case v.name == "":
				launcher = cmp.Or(launcher, v.own)
			case name == "":
				name, first = v.name, v.name
			case name != v.name:
				name = several
			}
		}
		if name != "" {
			break // else a goroutine that was only seen where it was stopped
		}
	}
	return name, first, launcher
}

// stoppedIn returns the name that all call chains show of a goroutine whose start function is unknown,
// because it is older than the trace and did not block: the outermost function in which it was
// stopped. If they show several, or may lack the start function, it returns "".
func (r *replay) stoppedIn(l *localG) (name string) {
	for k := range r.d.shownOf(l) {
		s := r.d.stacks[k]
		if len(s.Code()) < 2 || len(s.Frames) >= maxFrames {
			continue
		}
		v := r.shownIn(k)
		if v.name == "" || name != "" && name != v.name || symbol.IsStandard(symbol.Package(v.name)) {
			return ""
		}
		name = v.name
	}
	if name != "" {
		r.note("Goroutines that are older than the trace and did not block have the name of the outermost function in which they were stopped.")
	}
	return name
}

// look is like show, but also handles call chains whose only frame belongs to the program.
func (n *naming) look(s *Stack) shown {
	if c := s.calls; c != nil && c.unsure {
		if name := n.stopped[c.root][c.first.Func]; name != "" && name != several {
			return n.shown(name)
		}
	}
	if s.calls != nil || len(s.Frames) >= maxFrames {
		return n.show(s.calls)
	}
	return n.shown(s.Root().Func)
}

// prepareNames evaluates the call chains of the generation before it is replayed.
func (r *replay) prepareNames() {
	d := r.d
	r.learn(d.stacks)
	r.number++
	r.byName = cleared(r.byName, len(d.names))
	r.memo = cleared(r.memo, len(d.stacks))
	r.sitesAt = cleared(r.sitesAt, len(d.stacks))
	r.tracked, r.next, r.turned = nil, nil, 0
	for i := range int32(d.gs.n) {
		l := d.gs.at(i)
		g := r.local[i]
		var st *start
		switch {
		case g != nil && g.start != nil:
			st = g.start
		case l.name >= 0:
			st = r.startAt(l.name)
		default:
			continue
		}
		if st.kind != Application {
			continue
		}
		switch r.classOf(st) {
		case telling, library:
			continue
		case serving:
			if r.tracked == nil {
				r.tracked = make([]trackedG, d.gs.n)
			}
			r.tracked[i] = trackedG{true, -1, r.handler(l.stack), -1, -1}
		}
		r.learnSite(g, st, l)
	}
	if r.tracked != nil {
		r.lookAhead()
	}
}

// cleared returns a slice of n zeroes.
func cleared[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// learnSite records the name of a goroutine for others that were started at the same place.
func (r *replay) learnSite(g *Goroutine, st *start, l *localG) {
	if l.shown < 0 {
		return // it shows nothing
	}
	site, root := (*Frame)(nil), ""
	if g == nil {
		site = r.siteOf(l, st)
	} else if g.basis != nil {
		site, root = g.basis.site, g.basis.root
	}
	if site == nil {
		return
	}
	if root == "" {
		root = r.rootOf(st, l)
	}
	if name, _, _ := r.shownBy(root, l); name != "" {
		if old := r.sites[site]; old != "" && old != name {
			name = several
		}
		r.sites[site] = name
	}
}

// siteOf returns the frame that started a goroutine: that of the go statement or, if a library or
// launcher executed the statement for others, that of its caller, in the program if possible.
func (r *replay) siteOf(l *localG, st *start) *Frame {
	if l.site < 0 {
		return nil
	}
	at := &r.sitesAt[l.site]
	if at.start != st {
		*at = siteAt{st, siteIn(r.d.stacks[l.site], st)}
	}
	return at.frame
}

func siteIn(s *Stack, st *start) *Frame {
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	if st.goWrapper {
		return s.Frames[0]
	}
	enclosing, pkg := st.frame.enclosing(), st.frame.pkg()
	var library *Frame
	for _, f := range s.Frames {
		switch {
		case f.its().Transparent || f.enclosing() == enclosing || pkg != "main" && f.pkg() == pkg:
		case !f.its().Foreign:
			return f
		case library == nil:
			library = f
		}
	}
	return cmp.Or(library, s.Frames[0])
}

// setName names a goroutine by the call chains of the generation. It reports whether the name is
// new.
func (r *replay) setName(g *Goroutine, l *localG) bool {
	if g.start == nil {
		if l.name < 0 {
			return g.Func == "" && g.rename(r.stoppedIn(l))
		}
		s := r.startAt(l.name)
		g.start, g.Start, g.Kind = s, s.name, s.kind
	}
	if g.Kind != Application {
		return g.rename(g.Start)
	}
	class := r.classOf(g.start)
	if class == telling {
		return g.rename(g.Start)
	}
	var on basis
	if g.basis != nil {
		on = *g.basis
	}
	if on.site == nil {
		on.site = r.siteOf(l, g.start)
	}
	if class != library && on.root == "" {
		on.root = r.rootOf(g.start, l)
	}
	g.basis = r.basis(on)
	if class == library {
		return g.rename(g.Start)
	}
	name, first, launcher := r.shownBy(on.root, l)
	if launcher != "" {
		g.extra().launcher = launcher
	} else if g.Extra != nil {
		launcher = g.Extra.launcher
	}
	switch {
	case class == serving:
		g.varies = true
		switch {
		case g.Func != "":
			return false
		case g.start.server == nil:
			return g.rename(g.Start)
		}
		return g.rename(g.start.reading)
	case g.varies, name == several, name != "" && g.named && name != g.Func:
		g.varies, g.named = true, true
		switch {
		case g.Start == callback:
			return g.rename(cThread)
		case on.site != nil && r.ofLibrary(cmp.Or(launcher, g.Start)):
			return g.rename(r.place(on.site, g.start))
		case launcher != "":
			return g.rename(launcher)
		case !symbol.IsStandard(g.start.frame.pkg()):
			return g.rename(g.Start)
		case g.Func == "":
			return g.rename(first)
		}
		return false
	case name != "":
		g.named = true
		return g.rename(name)
	case g.named:
		return false
	case g.Start == callback:
		return g.rename(cThread)
	}
	switch known := r.sites[on.site]; {
	case on.site == nil:
		return g.rename(g.Start)
	case known != "" && known != several:
		return g.rename(known)
	}
	return g.rename(r.place(on.site, g.start))
}

// basis returns the canonical basis equal to on.
func (n *naming) basis(on basis) *basis {
	if *n.latest == on {
		return n.latest
	}
	b := n.bases[on]
	if b == nil {
		b = new(basis)
		*b = on
		n.bases[on] = b
	}
	n.latest = b
	return b
}

// renamed counts the goroutines that got a new or first name in a later generation than the one
// that first showed them.
type renamed struct {
	goroutines int
	first      [2]string // the names of the first one
	at         Time
}

func (n *renamed) add(g *Goroutine, before string, t Time) {
	if g.Kind != Application || g.renamed {
		return
	}
	if n.goroutines == 0 {
		n.first, n.at = [2]string{before, g.Func}, t
	}
	n.goroutines++
	g.renamed = true
}

// note returns the note of the pass, or "" if no goroutine has two names.
func (n *renamed) note(start Time) string {
	if n.goroutines == 0 {
		return ""
	}
	return fmt.Sprintf("%s two names, as the trace shows only later what they are for: one is called %s until %s, then %s.", format.Plural(n.goroutines, "goroutine has", "goroutines have"),
		format.Clean(n.first[0]), format.Duration(time.Duration(n.at-start)), format.Clean(n.first[1]))
}

// reading is the suffix of a server goroutine's name while it reads.
const reading = " (reading)"

// rename sets the name of g and reports whether it is new.
func (g *Goroutine) rename(name string) bool {
	if g.Func == name {
		return false
	}
	g.Func = name
	return true
}

// lookAhead fills in next. The call chain that ends a running interval comes after the interval's
// beginning, so the records are scanned ahead of the replay.
func (r *replay) lookAhead() {
	d := r.d
	for k := range d.chunks {
		records := d.chunk(k)
		for i := range records {
			rec := &records[i]
			code := uint8(rec.head)
			from, to := stepStates(code)
			switch {
			case code == codeRangeBegin:
				if rec.x&1 != 0 {
					r.seen(rec.g, rec.y, false)
				}
			case code == codeAux:
				r.seen(d.aux[rec.g].by, d.aux[rec.g].stack, false)
			case code > codeRangeBegin:
			case to == Running:
				if t := &r.tracked[rec.g]; t.serves {
					t.latest = int32(len(r.next))
					if t.begin < 0 {
						t.begin = t.latest
					}
					r.next = append(r.next, t.resume)
				}
			case from == Running && to != NotExist:
				if t := &r.tracked[rec.g]; t.serves {
					r.seen(rec.g, rec.y, true)
					t.resume = r.handler(rec.y)
				}
			case to == Runnable && (from == Waiting || from == NotExist):
				r.seen(rec.x, rec.y, false)
			}
		}
	}
}

// handler returns the call chain if it shows a handler, else −1.
func (r *replay) handler(stack int32) int32 {
	if stack >= 0 && r.shownIn(stack).name != "" {
		return stack
	}
	return -1
}

// seen notes a call chain of a goroutine's current running interval. The latest one that shows a
// handler names the interval, otherwise the one at its end, otherwise the first.
func (r *replay) seen(g, stack int32, end bool) {
	if g < 0 || stack < 0 || !r.tracked[g].serves {
		return
	}
	at := &r.tracked[g].first
	if k := r.tracked[g].latest; k >= 0 {
		at = &r.next[k]
	}
	if *at < 0 || r.handler(stack) >= 0 || end && r.handler(*at) < 0 {
		*at = stack
	}
}

// shownIn returns what the call chain with the local number shows.
func (r *replay) shownIn(stack int32) *shown {
	v := &r.memo[stack]
	if !v.looked {
		*v = r.look(r.d.stacks[stack])
	}
	return v
}

// first names a server goroutine that is new to the replay: by its activity at the beginning of the
// generation, by where it waits, or by its first activity.
func (r *replay) first(g *Goroutine, i int32) {
	if r.tracked == nil || !r.tracked[i].serves {
		return
	}
	t, stack := &r.tracked[i], r.d.gs.at(i).stack
	if t.first >= 0 {
		stack = t.first
	}
	if stack < 0 && t.begin >= 0 {
		stack = r.next[t.begin]
	}
	r.does(g, stack)
}

// turn names a server goroutine for the running interval that begins at t and whose final call
// chain is stack.
func (r *replay) turn(g *Goroutine, stack int32, t Time) {
	if r.does(g, stack) {
		for _, o := range r.observers {
			o.Named(g, t)
		}
	}
}

// does names a server goroutine by a call chain, which is unknown if negative. It reports whether
// the name is new.
func (r *replay) does(g *Goroutine, stack int32) bool {
	if stack < 0 || g.start == nil || !g.varies || len(r.d.stacks[stack].Frames) >= maxFrames {
		return false
	}
	v := r.shownIn(stack)
	name := v.name
	switch {
	case name == "" && v.own != "" && v.own != g.Start:
		name = v.own
	case name == "":
		if !v.served {
			reading := polling
			if s := g.start.server; s != nil {
				reading = s.reading
			}
			v.served, v.reads = true, reach(r.d.stacks[stack].Frames, reading)
		}
		if name = g.Start; v.reads {
			name = g.start.reading
		}
	}
	return g.rename(name)
}

// place returns the name of goroutines that are named by where they were started.
func (r *replay) place(f *Frame, st *start) string {
	p := r.places[f]
	if p == "" {
		by := "go"
		switch {
		case st.name == coroutineStart:
			by = "iter.Pull"
		case !st.goWrapper:
			by = shortStarter(st.name)
		}
		p = fmt.Sprintf("%s:%d (%s)", f.Func, f.Line, by)
		r.places[f] = p
	}
	return p
}

// shortStarter shortens "sync.(*WaitGroup).Go.func1" to "WaitGroup.Go".
func shortStarter(fn string) string {
	fn = symbol.Enclosing(fn)
	if pkg := symbol.Package(fn); pkg != "" {
		fn = fn[len(pkg)+1:]
	}
	return strings.NewReplacer("(*", "", ")", "").Replace(fn)
}
