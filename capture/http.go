package capture

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ServeHTTP lists captures, shows their files, and takes captures. To list and show them,
// Options.Sink must be a [Dir] or have the same methods List and Open. ServeHTTP does not
// authenticate requests: mount it behind a check, as live.Options.Captures does.
//
//	GET  …                       the list, as HTML, text or, with format=json, JSON
//	GET  …?capture=NAME          the page of a capture, with its verdict
//	GET  …?capture=NAME&file=F   a file
//	POST …?reason=TEXT           a capture: 202, or 429 if it is suppressed
func (c *Capturer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		if err := http.NewCrossOriginProtection().Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		if !c.Trigger(cmp.Or(q.Get("reason"), "request of "+r.RemoteAddr)) {
			http.Error(w, fmt.Sprintf("suppressed: one capture in %v", c.opt.Every), http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "the capture is being taken\n")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "only GET, HEAD and POST are allowed", http.StatusMethodNotAllowed)
	case q.Has("capture"):
		c.serveFile(w, r, q.Get("capture"), q.Get("file"))
	default:
		c.serveList(w, r)
	}
}

func (c *Capturer) serveFile(w http.ResponseWriter, r *http.Request, name, file string) {
	sink, ok := c.opt.Sink.(fs.FS)
	if !ok {
		http.Error(w, "the captures are not stored on this machine", http.StatusNotImplemented)
		return
	}
	page := file == ""
	if page {
		file = InfoFile
	}
	f, err := sink.Open(name + "/" + file)
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			status, err = http.StatusNotFound, errors.New("no such file")
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer f.Close()
	if page {
		var info Info
		if err := json.NewDecoder(f).Decode(&info); err != nil {
			http.Error(w, "reading "+file+": "+err.Error(), http.StatusInternalServerError)
			return
		}
		verdict, _ := fs.ReadFile(sink, name+"/"+VerdictFile) // the problems have the reason if there is none
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, pageOf(&info, string(verdict)))
		return
	}
	kind, disposition := "application/octet-stream", "attachment"
	switch {
	case strings.HasSuffix(file, ".json"):
		kind, disposition = "application/json", "inline"
	case strings.HasSuffix(file, ".md"):
		kind, disposition = "text/plain; charset=utf-8", "inline"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", fmt.Sprintf("%s; filename=%q", disposition, name+"-"+file))
	if s, ok := f.(io.ReadSeeker); ok {
		http.ServeContent(w, r, "", time.Time{}, s)
		return
	}
	io.Copy(w, f)
}

func (c *Capturer) serveList(w http.ResponseWriter, r *http.Request) {
	sink, ok := c.opt.Sink.(interface{ List() ([]Info, error) })
	var list []Info
	if ok {
		var err error
		if list, err = sink.List(); err != nil {
			http.Error(w, "listing captures: "+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	stats := c.Stats()
	state := fmt.Sprintf("Since the start: %s stored, %s suppressed (at most one in %v), %d failed", format.Plural(stats.Captured, "capture", "captures"),
		format.Plural(stats.Suppressed, "trigger", "triggers"), c.opt.Every, stats.Failed)
	if stats.LastError != nil {
		state += ", the last one: " + format.Clean(stats.LastError.Error())
	}
	switch format := r.URL.Query().Get("format"); {
	case format == "json" || format == "" && strings.HasPrefix(r.Header.Get("Accept"), "application/json"):
		w.Header().Set("Content-Type", "application/json")
		if list == nil {
			list = []Info{}
		}
		json.NewEncoder(w).Encode(list)
	case format == "" && strings.Contains(r.Header.Get("Accept"), "text/html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page(list, state))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, state)
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		for i := range list {
			fmt.Fprintf(t, "%s\t%s\t%s\n", list[i].Name, list[i].Reason, list[i].Finding)
		}
		t.Flush()
	}
}

const pageHead = `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Captures</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}article{border-top:1px solid #8888;padding:.5rem 0}h2{font-size:1rem;margin:0}p{margin:.2rem 0}pre{white-space:pre-wrap}</style>
`

// page returns the list as an HTML page.
func page(list []Info, state string) string {
	var b strings.Builder
	b.WriteString(pageHead + `<h1>Captures</h1><p>` + html.EscapeString(state) + ".</p>\n")
	for i := range list {
		list[i].article(&b)
	}
	return b.String()
}

// pageOf returns the page of a capture.
func pageOf(info *Info, verdict string) string {
	var b strings.Builder
	b.WriteString(pageHead + `<p><a href="?">All captures</a>`)
	info.article(&b)
	fmt.Fprintf(&b, "<p>Process %d, %s; %s before it.", info.PID, html.EscapeString(info.GoVersion), format.Plural(info.Suppressed, "suppressed trigger", "suppressed triggers"))
	for _, key := range slices.Sorted(maps.Keys(info.Labels)) {
		fmt.Fprintf(&b, "<p>%s: %s", html.EscapeString(key), html.EscapeString(info.Labels[key]))
	}
	for _, problem := range info.Problems {
		b.WriteString("<p>" + html.EscapeString(problem))
	}
	b.WriteString("<pre>" + html.EscapeString(verdict) + "</pre>\n")
	return b.String()
}

// article writes a summary of a capture as HTML.
func (info *Info) article(b *strings.Builder) {
	fmt.Fprintf(b, `<article><h2><a href="?capture=%s">%s</a></h2><p>%s, %s on %s`, url.QueryEscape(info.Name), html.EscapeString(info.Reason), info.Time.Format("2006-01-02 15:04:05 MST"), html.EscapeString(info.Version), html.EscapeString(info.Host))
	if info.Finding != "" {
		fmt.Fprintf(b, "<p><strong>%s</strong> %s", html.EscapeString(info.Finding), html.EscapeString(info.Where))
	}
	b.WriteString("<p>")
	for _, f := range append(info.Files, InfoFile) {
		fmt.Fprintf(b, `<a href="?capture=%s&amp;file=%s">%s</a> `, url.QueryEscape(info.Name), url.QueryEscape(f), html.EscapeString(f))
	}
	b.WriteString("</article>\n")
}
