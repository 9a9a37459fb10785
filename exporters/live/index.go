package live

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/internal/icon"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

//go:embed index.html
var indexHTML string

//go:embed index.css
var indexCSS string

// indexTemplate escapes whatever it is given.
var indexTemplate = template.Must(template.New("index").Parse(indexHTML))

// indexPage is what the template shows.
type indexPage struct {
	Title     string
	Icon      template.HTML
	Style     template.CSS
	States    []indexState
	Picture   bool
	Seconds   int
	Ends      []indexEnd
	Commands  []string
	FilePaths bool
}

// indexState is a line of what goes on.
type indexState struct {
	Name, Value, Note string
	Bad               bool
}

// indexEnd is a path with the forms that it has.
type indexEnd struct {
	Name, Title, About, Missing string
	Links                       []indexLink
}

type indexLink struct{ Name, URL, Label string }

// serveIndex answers with the page that explains the others. It collects nothing, so it is always there.
func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r.URL.RawQuery, nil, nil); err != nil {
		return &problem{status: http.StatusBadRequest, text: format.Clean(err.Error())}
	}
	page := indexPage{
		Title: format.Clean(h.opt.Title), Icon: icon.Link, Style: template.CSS("\n" + indexCSS), Seconds: int(usualTime.Seconds()),
		States: h.states(time.Now()), Picture: h.continuous != nil && h.continuous.Enabled(),
		Ends: h.ends(), Commands: h.commands(r), FilePaths: h.opt.FilePaths,
	}
	var buf bytes.Buffer
	if err := indexTemplate.Execute(&buf, page); err != nil {
		return fmt.Errorf("the page cannot be made: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policyFor(buf.Bytes(), "; img-src 'self' data:"))
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	send(w, r, buf.Bytes())
	return nil
}

// states are the lines about what goes on.
func (h *handler) states(now time.Time) (states []indexState) {
	switch {
	case h.recorder == nil:
		states = append(states, indexState{Name: "Recorder", Value: "none", Note: "live.Options.Recorder is not set"})
	case h.recorder.Enabled():
		states = append(states, indexState{Name: "Recorder", Value: "recording", Note: "keeps the last " + format.Duration(h.recorder.Window())})
	default:
		states = append(states, indexState{Name: "Recorder", Value: "stopped", Note: "nobody has called its Start, or somebody its Stop or trace.Stop", Bad: true})
	}
	states = append(states, h.continuousStates()...)
	if h.tasks == nil {
		states = append(states, indexState{Name: "Recorder of tasks", Value: "none", Note: "live.Options.Tasks is not set"})
	} else {
		p := h.tasks.Profile()
		var tasks uint64
		for i := range p.Classes {
			tasks += p.Classes[i].Tasks
		}
		states = append(states, indexState{Name: "Recorder of tasks", Value: format.Plural(tasks, "task", "tasks"), Note: "in " + format.Plural(len(p.Classes), "class", "classes") + ", counted by " + format.Clean(p.Source)})
	}
	return append(states, indexState{Name: "This page", Value: format.Duration(now.Sub(h.born)), Note: "since the handler was made; it is " + now.Format("2006-01-02 15:04:05 MST")})
}

// continuousStates are the lines about the continuous analysis: how long, how much of it was seen, and at which cost.
func (h *handler) continuousStates() []indexState {
	if h.continuous == nil {
		return []indexState{{Name: "Continuous analysis", Value: "none", Note: "live.Options.Continuous is not set"}}
	}
	live := h.continuous.Read()
	state := indexState{Name: "Continuous analysis", Value: "stopped", Note: "nobody has called its Start, or somebody its Stop or trace.Stop", Bad: true}
	if h.continuous.Enabled() {
		state = indexState{Name: "Continuous analysis", Value: "running"}
		if live != nil && !live.From.IsZero() {
			state.Note = "for " + format.Duration(live.To.Sub(live.From)) + ", since " + live.From.Format("2006-01-02 15:04:05 MST")
		}
	}
	states := []indexState{state}
	if live == nil {
		return states
	}
	st := live.Stream
	if all := live.To.Sub(live.From); live.Bottle != nil && all > 0 {
		seen := indexState{Name: "Seen of that", Value: percent(live.Covered, all), Note: format.Duration(live.Covered)}
		if all-live.Covered > all/1000 {
			seen.Note += "; the rest was dropped, and is in no number"
		}
		seen.Bad = 10*live.Covered < 9*all
		states = append(states, seen)
	}
	dropped := indexState{Name: "Dropped", Value: format.Plural(st.Dropped.Generations, "generation", "generations"), Note: fmt.Sprintf("of %d, about a second each", st.Dropped.Generations+st.Generations)}
	if n := st.Dropped; n.Generations > 0 {
		dropped.Bad = true
		dropped.Note += fmt.Sprintf(": %d over budget, %d too fast, %d broken", n.OverBudget.Generations, n.Behind.Generations, n.Broken.Generations)
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
		return "0 %"
	}
	return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(whole))
}

// ends are all paths with links to their forms.
func (h *handler) ends() (ends []indexEnd) {
	for _, e := range endpoints {
		end := indexEnd{Name: e.name, Title: e.title, About: e.about, Missing: e.missing(h)}
		for _, f := range e.forms {
			link := indexLink{Name: string(f), URL: e.name + "?format=" + string(f), Label: e.title + " as " + string(f)}
			if len(e.parameters) == 0 {
				link = indexLink{Name: string(f), URL: e.name, Label: e.title}
			}
			end.Links = append(end.Links, link)
		}
		ends = append(ends, end)
	}
	return ends
}

// commands are what somebody would type, with the address that the page was asked for.
func (h *handler) commands(r *http.Request) (commands []string) {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(at, "/") {
		at = r.URL.Path
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	at = strings.ReplaceAll(format.Clean(scheme+r.Host+at), "'", "%27") // a link may lead to any path below the mount point, and a shell must not obey it
	curl, flag, parameter := "curl ", "", "'"
	if h.guard.token.IsSet() {
		curl, flag, parameter = `curl -H "Authorization: Bearer $BOTTLENECK_TOKEN" `, "-token-file FILE ", `&token='"$BOTTLENECK_TOKEN"`
	}
	add := func(e *endpoint, command string) {
		if e.missing(h) == "" {
			commands = append(commands, command)
		}
	}
	add(&graphEndpoint, curl+"'"+at+"graph?seconds=2'")
	add(&graphEndpoint, "bottleneck top "+flag+"'"+at+"'")
	add(&contentionEndpoint, "go tool pprof -top '"+at+"contention?seconds=2"+parameter)
	add(&wallEndpoint, "go tool pprof -http=: '"+at+"wall?seconds=5"+parameter)
	add(&traceEndpoint, "bottleneck graph "+flag+"-o graph.svg '"+at+"trace'")
	add(&metricsEndpoint, curl+"'"+at+"metrics'")
	return commands
}
