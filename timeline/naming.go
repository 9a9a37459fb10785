package timeline

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// How goroutines get their names.
//
// The start function of a goroutine often says nothing of what it is for: every goroutine of
// sync.(*WaitGroup).Go starts in sync.(*WaitGroup).Go.func1, those of a pool in its worker, and "go
// f(x)" in g, where f is a variable or a method of an interface, in g.gowrap1, which the compiler
// made. So the name of a goroutine is the outermost function in its call chains that is none of
// these:
//
//   - a wrapper that the compiler made,
//   - a function of the standard library, or of a library that is known to start goroutines for
//     others,
//   - a function of another module, if one of the program's own comes after it: no module can
//     import the program, so it was called by a function value, as by the worker of a pool,
//   - a launcher: a function that calls several other functions by function values.
//
// Where its call chains have no such function, a goroutine is called what the others are called
// that the same go statement started, if that is one name, else by the place of the statement:
// "main.run:57 (go)".
//
// A call is by a function value, or by a method of an interface, if
//
//   - one call instruction reaches several functions,
//   - the callee is a function literal of another function, or
//   - the callee is in package main, which no other package can import.
//
// Frames of the launcher's own package between it and such a call are its own, unless the package
// is main. Function main.main is never a launcher.
//
// A goroutine that does several such things, as the worker of a pool, has the name of the launcher,
// or that of the place of the go statement if the launcher is a library's: a task that neither
// waits nor makes a system call leaves no call chain, so what ran between two of them is not known.
// The places of its waits are. Where the standard library is the launcher, as package testing of a
// benchmark and its Cleanup, it has the name of the first. A library's goroutine that reads by
// itself and calls functions of the program is a server's, as that of net/http and gRPC: it reads
// before it calls a handler, and reading shows. Its stretches of running belong to what the call
// chain at the end shows; see server.
//
// All that a generation (about a second) shows holds from its beginning. It does not change what
// was shown before: a launcher that is found in a later generation is none in an earlier one.
// Observers have added the goroutine to its group by then, and cannot take it out: that at least
// one of a group ran, or that several did, is known of the group, not of each of any number of
// goroutines. A note of the pass says how many have two names; see renamed.

// calls is what a call chain shows of who started its goroutine, and for what. Call chains that
// show the same share it.
type calls struct {
	root    string // the outermost function
	first   *Frame // the outermost frame that is not transparent; nil if there is none
	steps   []step // from there
	own     *Frame // the outermost frame of the program's own modules, if first is of another one; nil if there is none
	further []step // from there
	reads   bool   // a library reads, and not to start goroutines for others
}

// step is a call from a frame that may be a launcher's.
type step struct {
	from    *Frame // the launcher
	at      *Frame // the frame that calls: from, or one of the same package
	to      *Frame
	byValue bool // by a function value, as the names show
	passes  bool // from is a handler of net/http or gRPC that calls the next one, as middleware does
}

// maxSteps bounds the launchers that start each other.
const maxSteps = 6

// callsOf returns what the frames show; nil if that is nothing but a root that is the program's
// own, or if the root may be cut off.
func (t *stackTable) callsOf(frames []*Frame) *calls {
	n := len(frames)
	if n == 0 || n >= maxFrames {
		return nil
	}
	for n > 1 && (frames[n-1].Func == "runtime.goexit" || frames[n-1].Func == "runtime.main") {
		n-- // samples of the CPU profiler have them
	}
	i := n - 1
	for i >= 0 && isTransparent(frames[i]) {
		i--
	}
	root := frames[n-1]
	c := calls{root: root.Func}
	if i >= 0 {
		c.first = frames[i]
		c.steps = follow(frames, i)
		if c.first.its().Foreign {
			for i >= 0 && (frames[i].its().Foreign || isTransparent(frames[i])) {
				i--
			}
			if i >= 0 {
				c.own = frames[i]
				c.further = follow(frames, i)
			}
		}
	}
	// The root starts no goroutines for others, there is nothing of the program in the call
	// chain, and it reads.
	c.reads = c.own == nil && (c.first == nil || c.first.its().Foreign) && !isAdapter(root) && !starter.Is(root.Func) && reads(frames)
	if len(c.steps) == 0 && c.own == nil && c.first == root && !c.reads {
		return nil
	}
	return t.share(&c)
}

// reads reports whether a call chain reads from a file or the network.
func reads(frames []*Frame) bool {
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "internal/poll.(*FD).Read") {
			return true
		}
	}
	return false
}

// share returns the one calls that is equal to c.
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
	for _, steps := range [][]step{c.steps, c.further} {
		for i := range steps {
			s := &steps[i]
			key = binary.NativeEndian.AppendUint64(append(key, '|'), uint64(uintptr(unsafe.Pointer(s.at))))
			key = append(key, s.to.Func...)
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

// follow returns the calls that frame i may have made as a launcher, and those that they reach.
func follow(frames []*Frame, i int) (steps []step) {
	for len(steps) < maxSteps {
		from := frames[i]
		pkg := from.pkg()
		j, passes := callee(frames, i)
		if j < 0 {
			return steps
		}
		direct := step{from: from, at: from, to: frames[j], byValue: passes || isByValue(from, frames[j]), passes: passes}
		steps = append(steps, direct)
		if direct.byValue {
			i = j
			continue
		}
		if pkg == "main" || !isWithin(frames[j].pkg(), pkg) {
			return steps
		}
		// Go on to where the package is left.
		for {
			k, passes := callee(frames, j)
			if k < 0 {
				return steps
			}
			if passes || !isWithin(frames[k].pkg(), pkg) {
				exit := step{from: from, at: frames[j], to: frames[k], byValue: passes || isByValue(frames[j], frames[k]), passes: passes}
				steps = append(steps, exit)
				if !exit.byValue {
					return steps
				}
				i = k
				break
			}
			j = k
		}
	}
	return steps
}

// callee is starter.Callee for frames.
func callee(frames []*Frame, i int) (at int, passes bool) {
	return starter.Callee(i, func(i int) (string, starter.Role) { return frames[i].Func, frames[i].its().Role })
}

// isByValue reports whether the names of caller and callee show that the call was by a function
// value.
func isByValue(from, to *Frame) bool {
	if to.pkg() == "main" && from.pkg() != "main" || from.its().Foreign && !to.its().Foreign {
		return true
	}
	enclosing := to.enclosing()
	if enclosing == to.Func {
		return false
	}
	caller := from.enclosing()
	return enclosing != caller && !strings.HasPrefix(enclosing, caller+".") // else its own, or of what is inlined in it
}

// isWithin reports whether an import path is that of a package or of one below it.
func isWithin(path, pkg string) bool {
	return path == pkg || strings.HasPrefix(path, pkg) && path[len(pkg)] == '/'
}

// role is what the names of a frame say of it. Frames of a trace have theirs from the beginning:
// the rules are many.
type role struct {
	starter.Role
	known bool
}

func roleOf(f *Frame) role { return role{starter.RoleOf(f.Func, f.File), true} }

// its returns the role of a frame, which is not kept for one that is of no trace.
func (f *Frame) its() role {
	if f.role.known {
		return f.role
	}
	return roleOf(f)
}

func (f *Frame) pkg() string       { return f.Func[:f.its().Package] }
func (f *Frame) enclosing() string { return f.Func[:f.its().Enclosing] }

// isAdapter reports whether a function only passes a call on.
func isAdapter(f *Frame) bool { return f.its().Adapter }

// isTransparent reports whether goroutines are not named by a function: it is the compiler's, of
// the standard library, of gRPC, or known to start goroutines for others.
func isTransparent(f *Frame) bool { return f.its().Transparent }

// server is how the goroutine of a connection or stream is named while no handler runs.
//
//   - By a handler while that runs.
//   - "net/http.(*conn).serve (reading)" while it reads a request or waits for one.
//   - "net/http.(*conn).serve" in stretches that end elsewhere: a handler may have run, but no call
//     chain shows which.
//
// Those of other libraries are found by their call chains (calls.reads); what they have in common
// is that they read from a file or the network. They have no server.
type server struct {
	start   []string // prefixes of start functions
	reading []string // what its call chains have while it reads
}

var servers = []server{
	{
		[]string{"net/http.(*conn).serve"},
		[]string{"net/http.(*connReader).", "net/http.(*conn).readRequest", "crypto/tls.(*Conn).Handshake"},
	},
	{
		[]string{"google.golang.org/grpc.(*Server).serveStreams.func", "google.golang.org/grpc.(*Server).serverWorker"},
		[]string{"google.golang.org/grpc.recv", "google.golang.org/grpc.(*parser).recvMsg", "runtime.chanrecv"},
	},
}

func serverOf(start string) *server {
	for i := range servers {
		for _, p := range servers[i].start {
			if strings.HasPrefix(start, p) {
				return &servers[i]
			}
		}
	}
	return nil
}

func (s *server) reads(stack *Stack) bool {
	if s == nil {
		return reads(stack.Frames)
	}
	for _, f := range stack.Frames {
		for _, p := range s.reading {
			if strings.HasPrefix(f.Func, p) {
				return true
			}
		}
	}
	return false
}

// naming is what a pass has learned of launchers and names.
type naming struct {
	learned   map[*calls]bool
	callees   map[*Frame]*callees // by frame that calls
	launchers map[string]*callees // by function: what it calls by function values
	starts    map[string]bool     // start functions behind which there was one of the program's own
	hosts     map[string]bool     // functions of other modules behind which there was one of the program's own
	reads     map[string]bool     // start functions of libraries that read by themselves
	sites     map[*Frame]string   // what goroutines are called that were started there; several if they differ
	places    map[*Frame]string   // the names of these places

	started map[string]*start // by name

	// Of the current generation:
	number  int             // it is the first, the second, …
	byName  []*start        // by local number of the start function's name
	tracked []int32         // by local number of the goroutine, for those of servers: see lookAhead; nil if there are none
	firsts  map[int32]int32 // the call chain at the end of what a tracked goroutine did when the generation began, by local number
	begins  []int32         // by local number of a tracked goroutine: where in next its first stretch is, + 1; 0 if there is none
	next    []int32         // what the call chain at the end of each stretch of a tracked goroutine shows, in the order of their beginnings
	memo    []shown         // by local number of the call chain
	turned  int             // how many stretches of next have begun
	sitesAt []siteAt        // by local number of the call chain
}

// siteAt is where the go statement with a call chain started goroutines of a start function.
type siteAt struct {
	start *start
	frame *Frame
}

// start is a start function, and what is asked of it for each goroutine.
type start struct {
	name      string
	kind      Kind
	wrapper   bool // the compiler's
	goWrapper bool
	frame     *Frame
	server    *server // nil but for one
	class     startClass
	number    int // of the generation that the class is of
	reading   string
}

// whileReading is the name of the goroutine of a server while it reads.
func (s *start) whileReading() string {
	if s.reading == "" {
		s.reading = s.name + reading
	}
	return s.reading
}

type callees struct {
	first   string
	several bool
}

func (c *callees) add(fn string) {
	if c.first == "" {
		c.first = fn
	}
	c.several = c.several || c.first != fn
}

// several stands for names that differ. No function has it.
const several = "\x00"

// shown is what a call chain shows as the name of its goroutine.
type shown struct {
	name   string // what the launcher calls; "" if there is none
	own    string // else the launcher
	looked bool
	// Of a server: whether it reads, once that was looked for.
	served, reads bool
}

func newNaming() naming {
	return naming{
		learned: map[*calls]bool{}, callees: map[*Frame]*callees{}, launchers: map[string]*callees{},
		starts: map[string]bool{}, hosts: map[string]bool{}, reads: map[string]bool{}, sites: map[*Frame]string{}, places: map[*Frame]string{}, started: map[string]*start{},
	}
}

// start returns the start function with the name.
func (n *naming) start(name string) *start {
	name = strings.TrimSuffix(name, "-fm")
	s := n.started[name]
	if s == nil {
		f := &Frame{Func: name}
		f.role = roleOf(f)
		s = &start{name: name, kind: kindOf(name), wrapper: symbol.IsWrapper(name, ""), goWrapper: symbol.IsGoWrapper(name), frame: f, server: serverOf(name)}
		n.started[name] = s
	}
	return s
}

// learn adds what the call chains of a generation show of launchers.
func (n *naming) learn(stacks []*Stack) {
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
		for i := range c.steps {
			n.learnStep(&c.steps[i])
		}
		for i := range c.further {
			n.learnStep(&c.further[i])
		}
	}
}

func (n *naming) learnStep(s *step) {
	c := n.callees[s.at]
	if c == nil {
		c = &callees{}
		n.callees[s.at] = c
	}
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

// show returns what a call chain shows of its goroutine.
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
		if at := n.callees[s.at]; s.byValue || at != nil && at.several {
			cur = s.to
		}
	}
	return n.shown(cur.Func)
}

// shown returns what a call chain shows whose outermost function that may say something is fn.
func (n *naming) shown(fn string) shown {
	if n.isLauncher(fn) || n.hosts[fn] {
		return shown{own: fn, looked: true}
	}
	return shown{name: fn, looked: true}
}

// ofLibrary reports whether a function that starts goroutines for others is of another module than
// the program.
func (n *naming) ofLibrary(launcher string) bool {
	return n.hosts[launcher] || starter.Is(launcher) && !symbol.IsStandard(symbol.Package(launcher))
}

// startClass is what a start function says of its goroutine.
type startClass uint8

const (
	unclassed startClass = iota
	telling              // its name
	behind               // nothing: the name is that of a function behind it
	library              // nothing, but it is a name: a function of the standard library that has no function of the program behind it
	serving
)

// startAt returns the start function whose name has the local number.
func (r *replay) startAt(name int32) *start {
	if r.byName[name] == nil {
		r.byName[name] = r.start(r.d.names[name])
	}
	return r.byName[name]
}

// classOf returns the class of a start function by what is known up to the current generation.
func (n *naming) classOf(s *start) startClass {
	if s.number != n.number || s.class == unclassed {
		s.number = n.number
		switch {
		case s.server != nil, n.reads[s.name] && (n.starts[s.name] || n.hosts[s.name]):
			s.class = serving
		case s.wrapper, starter.Is(s.name), n.isLauncher(s.name), n.hosts[s.name]:
			s.class = behind
		case !isTransparent(s.frame):
			s.class = telling
		case n.starts[s.name]:
			s.class = behind
		default:
			s.class = library
		}
	}
	return s.class
}

// rootOf returns the outermost function of the call chains of a goroutine; "" if it is not known.
func (r *replay) rootOf(st *start, l *localG) string {
	if !st.wrapper {
		return st.name
	}
	// The start function is not in call chains.
	others := r.d.othersOf(l)
	for pass := range 2 {
		for i := -1; i < len(others); i++ {
			// Where a goroutine was stopped, the caller of the leaf may be missing.
			if k, byItself := l.shownAt(i, others); k >= 0 && (byItself || pass == 1 && len(r.d.stacks[k].Frames) > 1) {
				if root := r.d.stacks[k].Root().Func; root != "" {
					return root
				}
			}
		}
	}
	return ""
}

// shownAt returns the local number of a call chain that is noted for the goroutine, −1 for none.
func (l *localG) shownAt(i int, others []int32) (stack int32, byItself bool) {
	v := l.shown
	if i >= 0 {
		v = others[i]
	}
	if v < 0 {
		return -1, false
	}
	return v >> 1, v&1 != 0
}

// shownBy returns the name that the call chains of a goroutine with the root show, several if they
// differ, "" for none; the first of them; and the launcher behind which they are.
func (r *replay) shownBy(root string, l *localG) (name, first, launcher string) {
	if root == "" {
		return "", "", ""
	}
	others := r.d.othersOf(l)
	for i := -1; i < len(others); i++ {
		k, _ := l.shownAt(i, others)
		if k < 0 {
			continue
		}
		if s := r.d.stacks[k]; s.calls != nil && s.calls.root != root || s.calls == nil && s.Root().Func != root {
			continue
		}
		v := r.shownIn(k)
		switch {
		case v.name == "":
			if launcher == "" {
				launcher = v.own
			}
		case name == "":
			name, first = v.name, v.name
		case name != v.name:
			name = several
		}
	}
	return name, first, launcher
}

// look is show for a call chain that may have only one frame of the program's own.
func (n *naming) look(s *Stack) shown {
	if s.calls != nil || len(s.Frames) >= maxFrames {
		return n.show(s.calls)
	}
	return n.shown(s.Root().Func)
}

// prepareNames learns what the generation shows, before any of it is replayed.
func (r *replay) prepareNames() {
	d := r.d
	r.learn(d.stacks)
	r.number++
	r.byName = cleared(r.byName, len(d.names))
	r.memo = cleared(r.memo, len(d.stacks))
	r.sitesAt = cleared(r.sitesAt, len(d.stacks))
	r.tracked, r.next, r.turned, r.firsts = nil, nil, 0, nil
	for i := range d.gs {
		l := &d.gs[i]
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
				r.tracked, r.begins = make([]int32, len(d.gs)), make([]int32, len(d.gs))
			}
			r.tracked[i] = noStretch
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

// learnSite notes what a goroutine is called, for others that were started at the same place.
func (r *replay) learnSite(g *Goroutine, st *start, l *localG) {
	if l.shown < 0 {
		return // nothing
	}
	site, root := (*Frame)(nil), ""
	if g != nil {
		site, root = g.site, g.root
	} else {
		site = r.siteOf(l, st)
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

// siteOf returns the frame that started a goroutine: that of the go statement or, if a library or a
// launcher executed it for others, that of their caller.
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
	for _, f := range s.Frames {
		if !isTransparent(f) && f.enclosing() != enclosing && (pkg == "main" || f.pkg() != pkg) {
			return f
		}
	}
	return s.Frames[0]
}

// baptise names a goroutine by what the generation shows, if it has something new.
func (r *replay) baptise(g *Goroutine, l *localG) bool {
	if g.start == nil {
		if l.name < 0 {
			return false
		}
		g.setStart(r.startAt(l.name))
	}
	if g.Kind != Application {
		return g.rename(g.Start)
	}
	class := r.classOf(g.start)
	if class == telling {
		return g.rename(g.Start)
	}
	if g.site == nil {
		g.site = r.siteOf(l, g.start)
	}
	if class == library {
		return g.rename(g.Start)
	}
	if g.root == "" {
		g.root = r.rootOf(g.start, l)
	}
	name, first, launcher := r.shownBy(g.root, l)
	if launcher != "" {
		g.others().launcher = launcher
	} else if g.rare != nil {
		launcher = g.rare.launcher
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
		return g.rename(g.start.whileReading())
	case g.varies, name == several, name != "" && g.named && name != g.Func:
		g.varies, g.named = true, true
		switch {
		case g.Start == callback:
			return g.rename(cThread)
		case g.site != nil && r.ofLibrary(cmp.Or(launcher, g.Start)):
			return g.rename(r.place(g.site, g.start))
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
	switch known := r.sites[g.site]; {
	case g.site == nil:
		return g.rename(g.Start)
	case known != "" && known != several:
		return g.rename(known)
	}
	return g.rename(r.place(g.site, g.start))
}

// renamed counts the goroutines that got another name, or their first one, in a later generation
// than the one that showed them.
type renamed struct {
	goroutines int
	first      [2]string // the names of the first one
	at         Time
	counted    map[int64]bool
}

// maxRenamed bounds the goroutines about which it is known that they were counted: more than one
// new name is rare.
const maxRenamed = 1 << 16

func (n *renamed) add(g *Goroutine, before string, t Time) {
	if g.Kind != Application || n.counted[g.ID] {
		return
	}
	if n.goroutines == 0 {
		n.first, n.at = [2]string{before, g.Func}, t
		n.counted = map[int64]bool{}
	}
	n.goroutines++
	if len(n.counted) < maxRenamed {
		n.counted[g.ID] = true
	}
}

// note returns the note of a pass; "" if no goroutine has two names.
func (n *renamed) note(start Time) string {
	if n.goroutines == 0 {
		return ""
	}
	return fmt.Sprintf("%s two names, as the trace shows only later what they are for: one is called %s until %s, then %s.", format.Plural(n.goroutines, "goroutine has", "goroutines have"),
		format.Clean(n.first[0]), format.Duration(time.Duration(n.at-start)), format.Clean(n.first[1]))
}

// reading is what a server's goroutine does besides handling.
const reading = " (reading)"

// rename reports whether the name is new.
func (g *Goroutine) rename(name string) bool {
	if g.Func == name {
		return false
	}
	g.Func = name
	return true
}

// noStretch and inStretch are what tracked has of a goroutine: it has not run yet; the number in
// next of its latest stretch is added to the second. 0 is for goroutines that are not tracked.
const (
	noStretch = 1
	inStretch = 2
)

// lookAhead fills in next: the end of each stretch of running is ahead of its beginning.
func (r *replay) lookAhead() {
	d := r.d
	r.firsts = map[int32]int32{}
	tracked := r.tracked
	for records := range d.all() {
		for i := range records {
			rec := &records[i]
			switch aheadOf[uint8(rec.head)] {
			case aheadBegin:
				if tracked[rec.g] != 0 {
					if tracked[rec.g] == noStretch {
						r.begins[rec.g] = int32(len(r.next)) + 1
					}
					tracked[rec.g] = int32(len(r.next)) + inStretch
					r.next = append(r.next, -1)
				}
			case aheadEnd:
				if v := tracked[rec.g]; v != 0 && rec.y >= 0 && (v < inStretch || r.next[v-inStretch] < 0 || r.shownIn(rec.y).name != "") {
					r.ends(rec.g, rec.y)
				}
			case aheadWake:
				if by := rec.x; by >= 0 && tracked[by] != 0 && rec.y >= 0 && r.shownIn(rec.y).name != "" {
					r.ends(by, rec.y)
				}
			case aheadAux:
				a := &d.aux[rec.g]
				if a.kind == auxSample && a.by >= 0 && a.stack >= 0 && tracked[a.by] != 0 && r.shownIn(a.stack).name != "" {
					r.ends(a.by, a.stack)
				}
			}
		}
	}
}

// What a record is to lookAhead.
const (
	aheadBegin = 1 + iota // of a stretch of running
	aheadEnd
	aheadWake // of another goroutine, or its creation
	aheadAux
)

// aheadOf is that by code.
var aheadOf = func() (ahead [256]uint8) {
	for from := range numStates {
		for to := range numStates {
			code := stepCode(from, to)
			switch {
			case to == Running:
				ahead[code] = aheadBegin
			case from == Running && to != NotExist:
				ahead[code] = aheadEnd
			case to == Runnable && (from == Waiting || from == NotExist):
				ahead[code] = aheadWake
			}
		}
	}
	ahead[codeAux] = aheadAux
	return ahead
}()

// ends notes a call chain of the present stretch of a goroutine.
func (r *replay) ends(g, stack int32) {
	if k := r.tracked[g] - inStretch; k >= 0 {
		r.next[k] = stack
	} else {
		r.firsts[g] = stack
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

// first names the goroutine of a server that appears now: by what it did when the generation began,
// by where it waits, or by what it does first.
func (r *replay) first(g *Goroutine, i int32) {
	if r.tracked == nil || r.tracked[i] == 0 {
		return
	}
	stack, ok := r.firsts[i]
	if l := &r.d.gs[i]; !ok {
		stack = l.stack
	}
	if k := r.begins[i]; stack < 0 && k > 0 {
		stack = r.next[k-1]
	}
	r.does(g, stack)
}

// turn names the goroutine of a server for the stretch of running that begins now and ends with a
// call chain.
func (r *replay) turn(g *Goroutine, stack int32, t Time) {
	if r.does(g, stack) {
		for _, o := range r.observers {
			o.Named(g, t)
		}
	}
}

// does names the goroutine of a server by a call chain; one below 0 is not known. It reports
// whether the name is new.
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
			v.served, v.reads = true, g.start.server.reads(r.d.stacks[stack])
		}
		if name = g.Start; v.reads {
			name = g.start.whileReading()
		}
	}
	return g.rename(name)
}

// place names goroutines by where they were started.
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

// shortStarter turns "sync.(*WaitGroup).Go.func1" into "WaitGroup.Go".
func shortStarter(fn string) string {
	fn = symbol.Enclosing(fn)
	if pkg := symbol.Package(fn); pkg != "" {
		fn = fn[len(pkg)+1:]
	}
	return strings.NewReplacer("(*", "", ")", "").Replace(fn)
}
