package timeline

import (
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// How goroutines get their names.
//
// The start function of a goroutine often says nothing of what it is for: every goroutine of sync.(*WaitGroup).Go starts in
// sync.(*WaitGroup).Go.func1, those of a pool in its worker, and "go f(x)" in g, where f is a variable or a
// method of an interface, in g.gowrap1, which the compiler made. So the name of a goroutine is the outermost function
// in its call chains that is none of these:
//
//   - a wrapper that the compiler made,
//   - a function of the standard library, or of a library that is known to start goroutines for others,
//   - a launcher: a function that calls several other functions by function values.
//
// Where its call chains have no such function, a goroutine is called what the others are called that the same go statement
// started, if that is one name, else by the place of the statement: "main.run:57 (go)".
//
// A call is by a function value, or by a method of an interface, if
//
//   - one call instruction reaches several functions,
//   - the callee is a function literal of another function, or
//   - the callee is in package main, which no other package can import.
//
// Frames of the launcher's own package between it and such a call are its own, unless the package is main. Function main.main is
// never a launcher.
//
// A goroutine that does several such things, as the worker of a pool, has the name of the launcher: a task that neither waits
// nor makes a system call leaves no call chain, so what ran between two of them is not known. The places of its
// waits are. Where the standard library is the launcher, as package testing of a benchmark and its Cleanup, it has the name of the
// first. The goroutines of servers (net/http, gRPC) read before they call a handler, and reading shows: their stretches of
// running belong to what the call chain at the end shows; see server.
//
// All that a generation (about a second) shows holds from its beginning. It does not change what was shown before: a launcher that
// is found in a later generation is none in an earlier one.

// calls is what a call chain shows of who started its goroutine, and for what. Call chains that show the same share it.
type calls struct {
	root  string // the outermost function
	first *Frame // the outermost frame that is the program's own; nil if there is none
	steps []step
}

// step is a call from a frame that may be a launcher's.
type step struct {
	from    *Frame // the launcher
	at      *Frame // the frame that calls: from, or one of the same package
	to      *Frame
	byValue bool // by a function value, as the names show
}

// maxSteps bounds the launchers that start each other.
const maxSteps = 6

// callsOf returns what the frames show; nil if that is nothing but a root that is the program's own,
// or if the root may be cut off.
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
	c := calls{root: frames[n-1].Func}
	if i >= 0 {
		c.first = frames[i]
		c.follow(frames, i)
	}
	if len(c.steps) == 0 && i == n-1 {
		return nil
	}
	return t.share(&c)
}

// share returns the one calls that is equal to c.
func (t *stackTable) share(c *calls) *calls {
	var b strings.Builder
	b.WriteString(c.root)
	if c.first != nil {
		b.WriteString("|" + c.first.Func)
	}
	for i := range c.steps {
		s := &c.steps[i]
		fmt.Fprintf(&b, "|%p|%s", s.at, s.to.Func)
	}
	key := b.String()
	if old := t.calls[key]; old != nil {
		return old
	}
	t.calls[key] = c
	return c
}

// follow notes the calls that frame i may have made as a launcher, and those that they reach.
func (c *calls) follow(frames []*Frame, i int) {
	for len(c.steps) < maxSteps {
		from := frames[i]
		pkg := symbol.Package(from.Func)
		j := callee(frames, i)
		if j < 0 {
			return
		}
		direct := step{from: from, at: from, to: frames[j], byValue: isByValue(from, frames[j])}
		c.steps = append(c.steps, direct)
		if direct.byValue {
			i = j
			continue
		}
		if pkg == "main" || !isWithin(symbol.Package(frames[j].Func), pkg) {
			return
		}
		// Go on to where the package is left.
		for k := callee(frames, j); ; k = callee(frames, j) {
			if k < 0 {
				return
			}
			if !isWithin(symbol.Package(frames[k].Func), pkg) {
				exit := step{from: from, at: frames[j], to: frames[k], byValue: isByValue(frames[j], frames[k])}
				c.steps = append(c.steps, exit)
				if !exit.byValue {
					return
				}
				i = k
				break
			}
			j = k
		}
	}
}

// callee returns the frame that frame i calls, without what only passes a call on; −1 if there is none that is the program's own.
func callee(frames []*Frame, i int) int {
	for i--; i >= 0; i-- {
		f := frames[i]
		if isAdapter(f) {
			continue
		}
		if isTransparent(f) {
			return -1
		}
		return i
	}
	return -1
}

// isByValue reports whether the names of caller and callee show that the call was by a function value.
func isByValue(from, to *Frame) bool {
	if symbol.Package(to.Func) == "main" && symbol.Package(from.Func) != "main" {
		return true
	}
	enclosing := symbol.Enclosing(to.Func)
	if enclosing == to.Func {
		return false
	}
	caller := symbol.Enclosing(from.Func)
	return enclosing != caller && !strings.HasPrefix(enclosing, caller+".") // else its own, or of what is inlined in it
}

// isWithin reports whether an import path is that of a package or of one below it.
func isWithin(path, pkg string) bool {
	return path == pkg || strings.HasPrefix(path, pkg) && path[len(pkg)] == '/'
}

// isAdapter reports whether a function only passes a call on.
func isAdapter(f *Frame) bool {
	return symbol.IsWrapper(f.Func, f.File) || f.Func == "net/http.HandlerFunc.ServeHTTP" || isMethodHandler(f.Func)
}

// isMethodHandler reports whether a function is what protoc-gen-go-grpc makes to call a method of a service: _Greeter_SayHello_Handler.
func isMethodHandler(fn string) bool {
	fn = symbol.Enclosing(fn)
	fn = fn[strings.LastIndexByte(fn, '.')+1:]
	return strings.HasPrefix(fn, "_") && strings.HasSuffix(fn, "_Handler")
}

// isTransparent reports whether goroutines are not named by a function: it is the compiler's, of the standard library, of gRPC, or
// known to start goroutines for others.
func isTransparent(f *Frame) bool {
	if symbol.IsStandard(symbol.Package(f.Func)) {
		return !strings.HasSuffix(f.File, "_test.go") // the library's own tests and benchmarks are the program
	}
	return isAdapter(f) || starter.Is(f.Func) || strings.HasPrefix(f.Func, "google.golang.org/grpc.") || strings.HasPrefix(f.Func, "google.golang.org/grpc/internal/")
}

// server is how the goroutine of a connection or stream is named while no handler runs.
//
//   - By a handler while that runs.
//   - "net/http.(*conn).serve (reading)" while it reads a request or waits for one.
//   - "net/http.(*conn).serve" in stretches that end elsewhere: a handler may have run, but no call chain shows which.
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
	sites     map[*Frame]string   // what goroutines are called that were started there; several if they differ
	places    map[*Frame]string   // the names of these places

	// Of the generation at hand:
	classes []startClass // by local number of the start function's name
	tracked []bool       // the goroutines of servers, by local number; nil if there are none
	firsts  map[int32]int32
	next    []int32 // what the call chain at the end of each stretch of a tracked goroutine shows, in the order of their beginnings
	memo    []shown // by local number of the call chain
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
		starts: map[string]bool{}, sites: map[*Frame]string{}, places: map[*Frame]string{},
	}
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
		for i := range c.steps {
			n.learnStep(&c.steps[i])
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
	cur := c.first
	for i := range c.steps {
		s := &c.steps[i]
		if s.from != cur {
			continue
		}
		if !n.isLauncher(cur.Func) {
			break
		}
		if at := n.callees[s.at]; s.byValue || at != nil && at.several {
			cur = s.to
		}
	}
	if n.isLauncher(cur.Func) {
		return shown{own: cur.Func, looked: true}
	}
	return shown{name: cur.Func, looked: true}
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

// classFor returns the class of the start function of a goroutine, which may be nil if it is not shown yet.
func (r *replay) classFor(g *Goroutine, l *localG) startClass {
	if g == nil || g.Start == "" || l.name >= 0 && g.Start == r.d.names[l.name] {
		return r.classOf(l.name)
	}
	return r.class(g.Start)
}

func (r *replay) classOf(name int32) startClass {
	if r.classes[name] == unclassed {
		r.classes[name] = r.class(r.d.names[name])
	}
	return r.classes[name]
}

func (n *naming) class(start string) startClass {
	f := Frame{Func: start}
	switch {
	case serverOf(start) != nil:
		return serving
	case symbol.IsWrapper(start, ""), starter.Is(start), n.isLauncher(start):
		return behind
	case !isTransparent(&f):
		return telling
	case n.starts[start]:
		return behind
	}
	return library
}

// evidence yields the call chains of a goroutine that go back to where it started.
func (r *replay) evidence(g *Goroutine, l *localG, yield func(*Stack)) {
	root := g.root
	if symbol.IsWrapper(root, "") {
		root = "" // it is not in call chains
		for pass := range 2 {
			for i := -1; i < len(l.others) && root == ""; i++ {
				// Where a goroutine was stopped, the caller of the leaf may be missing.
				if s, byItself := r.shownAt(l, i); s != nil && (byItself || pass == 1 && len(s.Frames) > 1) {
					root = s.Root().Func
				}
			}
		}
		if root == "" {
			return
		}
		g.root = root
	}
	for i := -1; i < len(l.others); i++ {
		if s, _ := r.shownAt(l, i); s != nil && (s.calls != nil && s.calls.root == root || s.calls == nil && s.Root().Func == root) {
			yield(s)
		}
	}
}

func (r *replay) shownAt(l *localG, i int) (s *Stack, byItself bool) {
	v := l.shown
	if i >= 0 {
		v = l.others[i]
	}
	if v < 0 {
		return nil, false
	}
	return r.d.stacks[v>>1], v&1 != 0
}

// shownBy returns the name that the call chains of a goroutine show, several if they differ, "" for none; the first of them; and the
// launcher behind which they are.
func (r *replay) shownBy(g *Goroutine, l *localG) (name, first, launcher string) {
	r.evidence(g, l, func(s *Stack) {
		v := r.look(s)
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
	})
	return name, first, launcher
}

// look is show for a call chain that may have only one frame of the program's own.
func (n *naming) look(s *Stack) shown {
	if s.calls != nil || len(s.Frames) >= maxFrames {
		return n.show(s.calls)
	}
	if fn := s.Root().Func; n.isLauncher(fn) {
		return shown{own: fn, looked: true}
	} else {
		return shown{name: fn, looked: true}
	}
}

// prepareNames learns what the generation shows, before any of it is replayed.
func (r *replay) prepareNames() {
	d := r.d
	r.learn(d.stacks)
	r.classes = append(r.classes[:0], make([]startClass, len(d.names))...)
	r.tracked, r.next, r.memo, r.firsts = nil, nil, r.memo[:0], nil
	for i := range d.gs {
		l := &d.gs[i]
		g := r.local[i]
		if g == nil && l.name < 0 || g != nil && (g.Start == "" && l.name < 0 || g.Kind != Application) {
			continue
		}
		class := r.classFor(g, l)
		if class == telling {
			continue
		}
		if class == serving {
			if r.tracked == nil {
				r.tracked = make([]bool, len(d.gs))
			}
			r.tracked[i] = true
		}
		r.learnSite(g, l)
	}
	if r.tracked != nil {
		r.lookAhead()
	}
}

// learnSite notes what a goroutine is called, for others that were started at the same place.
func (r *replay) learnSite(g *Goroutine, l *localG) {
	site := (*Frame)(nil)
	var as Goroutine
	if g != nil {
		as, site = *g, g.site
	} else {
		as.Start = r.d.names[l.name]
		as.root = as.Start
		site = r.siteOf(l, as.Start)
	}
	if site == nil {
		return
	}
	if name, _, _ := r.shownBy(&as, l); name != "" {
		if old := r.sites[site]; old != "" && old != name {
			name = several
		}
		r.sites[site] = name
	}
}

// siteOf returns the frame that started a goroutine: that of the go statement or, if a library or a launcher executed
// it for others, that of their caller.
func (r *replay) siteOf(l *localG, start string) *Frame {
	if l.site < 0 {
		return nil
	}
	s := r.d.stacks[l.site]
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	if symbol.IsGoWrapper(start) {
		return s.Frames[0]
	}
	enclosing, pkg := symbol.Enclosing(start), symbol.Package(start)
	for _, f := range s.Frames {
		if !isTransparent(f) && symbol.Enclosing(f.Func) != enclosing && (pkg == "main" || symbol.Package(f.Func) != pkg) {
			return f
		}
	}
	return s.Frames[0]
}

// baptise names a goroutine by what the generation shows, if it has something new.
func (r *replay) baptise(g *Goroutine, l *localG) bool {
	if g.Start == "" {
		if l.name < 0 {
			return false
		}
		g.setStart(r.d.names[l.name])
	}
	if g.Kind != Application {
		return g.rename(g.Start)
	}
	class := r.classFor(g, l)
	if class == telling {
		return g.rename(g.Start)
	}
	if g.site == nil {
		g.site = r.siteOf(l, g.Start)
	}
	name, first, launcher := r.shownBy(g, l)
	if launcher != "" {
		g.launcher = launcher
	}
	switch {
	case class == serving:
		g.varies = true
		if g.Func != "" {
			return false
		}
		return g.rename(g.Start + reading)
	case g.varies, name == several, name != "" && g.named && name != g.Func:
		g.varies, g.named = true, true
		start := Frame{Func: g.Start}
		switch {
		case g.launcher != "":
			return g.rename(g.launcher)
		case !isTransparent(&start):
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
	}
	switch known := r.sites[g.site]; {
	case class == library, g.site == nil:
		return g.rename(g.Start)
	case known != "" && known != several:
		return g.rename(known)
	}
	return g.rename(r.place(g.site, g.Start))
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

// lookAhead fills in next: the end of each stretch of running is ahead of its beginning.
func (r *replay) lookAhead() {
	d := r.d
	r.memo = append(r.memo, make([]shown, len(d.stacks))...)
	r.firsts = map[int32]int32{}
	open := map[int32]int{} // by local number of the goroutine: where in next its stretch is
	for records := range d.all() {
		for i := range records {
			rec := &records[i]
			code := uint8(rec.head)
			if code == codeAux {
				a := &d.aux[rec.g]
				if a.kind == auxSample && a.by >= 0 && a.stack >= 0 && r.tracked[a.by] && r.shownIn(a.stack).name != "" {
					r.ends(open, a.by, a.stack)
				}
				continue
			}
			if code >= codeRangeBegin {
				continue
			}
			from, to := stepStates(code)
			if by := rec.x; to == Runnable && (from == Waiting || from == NotExist) && by >= 0 && r.tracked[by] && rec.y >= 0 && r.shownIn(rec.y).name != "" {
				r.ends(open, by, rec.y)
			}
			if !r.tracked[rec.g] {
				continue
			}
			switch {
			case to == Running:
				open[rec.g] = len(r.next)
				r.next = append(r.next, -1)
			case from == Running && to != NotExist && rec.y >= 0:
				if k, ok := open[rec.g]; !ok || r.next[k] < 0 || r.shownIn(rec.y).name != "" {
					r.ends(open, rec.g, rec.y)
				}
			}
		}
	}
}

// ends notes a call chain of the present stretch of a goroutine.
func (r *replay) ends(open map[int32]int, g, stack int32) {
	if k, ok := open[g]; ok {
		r.next[k] = stack
	} else {
		r.firsts[g] = stack
	}
}

func (r *replay) shownIn(stack int32) shown {
	v := &r.memo[stack]
	if !v.looked {
		*v = r.look(r.d.stacks[stack])
	}
	return *v
}

// turn names the goroutine of a server for the stretch of running that begins now and ends with a call chain; a chain below 0 is
// not known.
func (r *replay) turn(g *Goroutine, stack int32, t Time) {
	sv := serverOf(g.Start)
	if sv == nil || !g.varies || stack < 0 || len(r.d.stacks[stack].Frames) >= maxFrames {
		return
	}
	v := r.shownIn(stack)
	name := v.name
	switch {
	case name == "" && v.own != "":
		name = v.own
	case name == "":
		m := &r.memo[stack]
		if !m.served {
			m.served, m.reads = true, sv.reads(r.d.stacks[stack])
		}
		if name = g.Start; m.reads {
			if g.reading == "" {
				g.reading = g.Start + reading
			}
			name = g.reading
		}
	}
	if g.rename(name) {
		for _, o := range r.observers {
			o.Named(g, t)
		}
	}
}

// place names goroutines by where they were started.
func (r *replay) place(f *Frame, start string) string {
	p := r.places[f]
	if p == "" {
		by := "go"
		if !symbol.IsGoWrapper(start) {
			by = shortStarter(start)
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
