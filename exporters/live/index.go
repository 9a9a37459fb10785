package live

import (
	_ "embed"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/icon"
)

//go:embed index.css
var indexCSS string

// indexState is a status line.
type indexState struct {
	Name, Value, Note string
	Bad               bool
}

// markup is HTML under construction. Package html/template would do the same, but adds 3 MB to
// every program that imports this package.
type markup struct{ strings.Builder }

// add appends HTML and replaces each %s by a text, escaped for elements and for attributes in
// double quotes.
func (m *markup) add(format string, texts ...string) {
	for _, text := range texts {
		before, after, _ := strings.Cut(format, "%s")
		m.WriteString(before)
		m.WriteString(html.EscapeString(text))
		format = after
	}
	m.WriteString(format)
}

// serveIndex serves the index page. It collects nothing, so it is always available.
func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r.URL.RawQuery, nil, nil); err != nil {
		return &problem{status: http.StatusBadRequest, text: format.Clean(err.Error())}
	}
	page := []byte(h.indexPage(r))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policyFor(page, "; img-src 'self' data:"))
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := h.room.take(int64(len(page))); err != nil {
		return err
	}
	h.send(w, content{data: page})
	return nil
}

// states returns the status lines.
func (h *handler) states(now time.Time) (states []indexState) {
	switch {
	case h.recorder == nil:
		states = append(states, indexState{Name: "Recorder", Value: "none", Note: "live.Options.Recorder is not set"})
	case h.recorder.Enabled():
		states = append(states, indexState{Name: "Recorder", Value: "recording", Note: "keeps the last " + format.Duration(h.recorder.Window())})
	default:
		states = append(states, indexState{Name: "Recorder", Value: "stopped", Note: "Start was not called, or Stop or trace.Stop was", Bad: true})
	}
	states = append(states, h.continuousStates()...)
	if h.tasks == nil {
		states = append(states, indexState{Name: "Recorder of tasks", Value: "none", Note: "live.Options.Tasks is not set"})
	} else {
		p := h.tasks.Profile()
		states = append(states, indexState{Name: "Recorder of tasks", Value: format.Plural(len(p.Classes), "class", "classes"), Note: "counted by " + format.Clean(p.Source)})
	}
	return append(states, indexState{Name: "This page", Value: format.Duration(now.Sub(h.born)), Note: "since the handler was made; it is " + now.Format("2006-01-02 15:04:05 MST")})
}

// continuousStates returns the status lines of the continuous analysis: its duration, the traced
// part of it, and its cost.
func (h *handler) continuousStates() []indexState {
	if h.continuous == nil {
		return []indexState{{Name: "Continuous analysis", Value: "none", Note: "live.Options.Continuous is not set"}}
	}
	live := h.continuous.Read()
	state := indexState{Name: "Continuous analysis", Value: "stopped", Note: "Start was not called, or Stop or trace.Stop was", Bad: true}
	if p := h.panicked(); p != "" {
		state.Note = strings.TrimPrefix(p, ": ")
	}
	if h.continuous.Enabled() {
		state = indexState{Name: "Continuous analysis", Value: "running"}
		if live != nil && !live.From.IsZero() {
			state.Note = "for " + format.Duration(live.To.Sub(live.From)) + ", since " + live.From.Format("2006-01-02 15:04:05 MST")
		}
	}
	if p := h.panicked(); p != "" && h.continuous.Enabled() {
		state.Bad, state.Note = true, state.Note+p
	}
	states := []indexState{state}
	if live == nil {
		return states
	}
	st := live.Stream
	if all := live.To.Sub(live.From); live.Bottle != nil && all > 0 {
		seen := indexState{Name: "Seen of that", Value: percent(live.Covered, all), Note: format.Duration(live.Covered)}
		if all-live.Covered > all/1000 {
			seen.Note += " in " + format.Plural(live.Windows, "burst", "bursts") + " at random times; the rest is estimated from that"
		}
		seen.Bad = live.MissedBursts+live.LostBursts > 0
		if live.MissedBursts > 0 {
			seen.Note += "; " + format.Plural(live.MissedBursts, "burst", "bursts") + " did not take place, because other code traced the program"
		}
		if live.LostBursts > 0 {
			seen.Note += "; " + format.Plural(live.LostBursts, "burst", "bursts") + " gave nothing"
		}
		states = append(states, seen)
	}
	if live.Throttled > 0 {
		states = append(states, indexState{Name: "Throttled", Value: fmt.Sprintf("%.3g%%", 100*live.Throttled), Note: "of the periods of the control group: its quota of processor time was used up", Bad: live.Throttled >= 0.01})
	}
	dropped := indexState{Name: "Dropped", Value: format.Plural(st.Dropped.Generations, "generation", "generations"), Note: fmt.Sprintf("of %d", st.Dropped.Generations+st.Generations)}
	if st.Dropped.Generations > 0 {
		dropped.Bad = true
		dropped.Note += fmt.Sprintf(": %d over memory, %d too large, %d broken", st.OverMemory.Generations, st.Behind.Generations, st.Broken.Generations)
	}
	states = append(states, dropped)
	if st.Elapsed > 0 {
		states = append(states, indexState{Name: "Cost of it", Value: percent(st.CPU, st.Elapsed), Note: "of one processor, to read what the tracer writes"})
	}
	if st.Err != nil {
		states = append(states, indexState{Name: "Trouble", Value: format.Clean(st.Err.Error()), Bad: true})
	}
	return states
}

func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return "0%"
	}
	return fmt.Sprintf("%.3g%%", 100*float64(part)/float64(whole))
}

func (h *handler) indexPage(r *http.Request) string {
	var m markup
	title, heading := "bottleneck", "What limits this program"
	if t := format.Clean(h.opt.Title); t != "" {
		title, heading = "bottleneck: "+t, t
	}
	m.add(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
` + icon.Link + `
`)
	m.add("<title>%s</title>\n<style>\n"+indexCSS+"</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n", title, heading)
	m.add(`<p>These pages show which goroutines keep this program from using more processors, who waits for whom, and whether its tasks are of a
good size. Every link shows one moment: what happened in the last seconds, or what is sampled in the seconds to come.</p>

<h2>Now</h2>
<dl>
`)
	for _, s := range h.states(time.Now()) {
		m.add("<div><dt>%s</dt><dd", s.Name)
		if s.Bad {
			m.add(` class="bad"`)
		}
		m.add("><b>%s</b>", s.Value)
		if s.Note != "" {
			m.add(" <span>%s</span>", s.Note)
		}
		m.add("</dd></div>\n")
	}
	m.add("</dl>\n")
	h.indexVerdict(&m)
	if h.continuous != nil && h.continuous.Enabled() {
		seconds := strconv.Itoa(int(usualTime.Seconds()))
		m.add(`
<h2>The last %s seconds</h2>
<p class="picture"><a href="graph?format=svg"><img src="graph?format=svg" alt="Bottle graph of the last %s seconds: which groups of goroutines take how much of the time, at which parallelism. The same as text is below."></a></p>
`, seconds, seconds)
	}
	m.add("\n<h2>Look closer</h2>\n<ul class=\"ends\">\n")
	for _, e := range endpoints {
		h.indexEnd(&m, e)
	}
	if h.opt.Captures != nil {
		m.add("<li>\n<h3 id=\"captures\">Captures</h3>\n<p>What was recorded when something went wrong, such as a slow request: each with its trace and the verdict on it.</p>\n<p class=\"forms\"><a href=\"captures\">list</a></p>\n</li>\n")
	}
	m.add("</ul>\n\n<h2>From a terminal</h2>\n<pre tabindex=\"0\">\n")
	for _, c := range h.commands(r) {
		m.add("%s\n", c)
	}
	m.add(`</pre>

<h2>Asking</h2>
<dl class="asking">
<div><dt><code>seconds=</code></dt><dd>how much time the answer is about, 5 by default. The bottle graph, contention, the speedup stack and the trace show the last seconds,
at once. Where less is known, the answer has a warning.</dd></div>
<div><dt><code>group=</code></dt><dd>of the bottle graph: which goroutines share a box, by function, start, creator, goroutine, region, task, kind or /regexp/.</dd></div>
<div><dt><code>format=</code></dt><dd>svg, text, json, pprof or png, whichever the program has. Without it the Accept header decides: a browser gets a picture, curl gets text, go tool pprof gets a profile.</dd></div>
<div><dt><code>debug=1</code></dt><dd>text, as elsewhere in Go. It does not go together with <code>seconds=</code>.</dd></div>
</dl>
<p>One collection of a kind goes on at a time; others get the time to come again (503 and Retry-After). Names of functions and groups are the program's own.
Source files are named by package, not by where they were built; only the raw trace has them as they are.</p>
</main>
</body>
</html>
`)
	return m.String()
}

// lastVerdict returns the verdict on the last seconds of the continuous analysis, or else on the
// latest analyzed snapshot, with the end of its period; nil if there is none. It takes no snapshot,
// because that may take long.
func (h *handler) lastVerdict() *bottleneck.Live {
	if h.continuous != nil && h.continuous.Enabled() {
		if last := h.continuous.Last(usualTime); last != nil && last.Verdict != nil {
			return last
		}
	}
	return h.judged.Load()
}

func (h *handler) indexVerdict(m *markup) {
	judged := h.lastVerdict()
	if judged == nil {
		return
	}
	v := judged.Verdict
	m.add("\n<h2 id=\"verdict\">What limits it</h2>\n<p>%s, until %s:</p>\n<ol>\n", v.Head(), judged.To.Format("2006-01-02 15:04:05 MST"))
	for i := range v.Findings {
		f := &v.Findings[i]
		m.add("<li><b>%s</b>", format.Clean(f.Title))
		for k, p := range f.Where {
			separator := ", "
			if k == 0 {
				separator = "<br>"
			}
			m.add(separator+"<code>%s</code>", p.String())
		}
		if f.Advice != "" {
			m.add("<br>%s", format.Clean(f.Advice))
		}
		if gain := f.Bound(); gain != "" {
			m.add("<br>Gain: %s.", format.Clean(gain))
		}
		m.add("</li>\n")
	}
	m.add("</ol>\n")
	for _, w := range v.Warnings {
		m.add("<p class=\"why\">%s</p>\n", format.Clean(w))
	}
}

// indexEnd adds a path with links to its formats.
func (h *handler) indexEnd(m *markup, e *endpoint) {
	missing := e.missing(h)
	m.add("<li")
	if missing != "" {
		m.add(` class="off"`)
	}
	m.add(">\n<h3 id=\"%s\">%s</h3>\n<p>%s</p>\n", e.name, e.title, e.about)
	if missing != "" {
		m.add("<p class=\"why\">Not here: %s.</p>\n</li>\n", missing)
		return
	}
	m.add(`<p class="forms">`)
	for _, f := range h.forms(e) {
		url, label := e.name+"?format="+string(f), e.title+" as "+string(f)
		if len(e.parameters) == 0 {
			url, label = e.name, e.title
		}
		m.add(`<a href="%s" aria-label="%s">%s</a> `, url, label, string(f))
	}
	m.add("</p>\n</li>\n")
}

// commands returns shell commands that use the address of the request.
func (h *handler) commands(r *http.Request) (commands []string) {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(at, "/") {
		at = r.URL.Path
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	// A link may lead to any path below the mount point; do not let the shell expand it.
	at = strings.ReplaceAll(format.Clean(scheme+r.Host+at), "'", "%27")
	curl, flag, parameter := "curl ", "", "'"
	if h.guard.token.IsSet() {
		curl, flag, parameter = `curl -H "Authorization: Bearer $BOTTLENECK_TOKEN" `, "-token-file FILE ", `&token='"$BOTTLENECK_TOKEN"`
	}
	add := func(e *endpoint, f form, command string) {
		if e.missing(h) == "" && slices.Contains(h.forms(e), f) {
			commands = append(commands, command)
		}
	}
	add(&graphEndpoint, formText, curl+"'"+at+"graph?seconds=2'")
	add(&graphEndpoint, formText, "bottleneck top "+flag+"'"+at+"'")
	add(&contentionEndpoint, formPprof, "go tool pprof -top '"+at+"contention?seconds=2"+parameter)
	add(&wallEndpoint, formPprof, "go tool pprof -http=: '"+at+"wall?seconds=5"+parameter)
	add(&traceEndpoint, formTrace, "bottleneck graph "+flag+"-o graph.svg '"+at+"trace'")
	add(&metricsEndpoint, formText, curl+"'"+at+"metrics'")
	return commands
}
