package browsertest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/report"
)

// openURL opens an address, and checks at the end of the test that there was no error in the page.
func openURL(t *testing.T, address string, w window) *page {
	t.Helper()
	p := open(t, address, w)
	t.Cleanup(func() {
		for _, e := range p.Errors() {
			if !strings.Contains(e, "status of 422") { // the browser reports each refused query, and the page shows it
				t.Errorf("error in the page: %s", e)
			}
		}
	})
	p.wait(`document.documentElement.dataset.ready == "true"`)
	p.settle()
	return p
}

// openFile writes data to a file and opens it with a fragment.
func openFile(t *testing.T, d *report.Data, fragment string, w window) *page {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	var buf bytes.Buffer
	if err := report.Write(&buf, d); err != nil {
		t.Fatal(err)
	}
	return openText(t, name, buf.String(), fragment, w)
}

func openText(t *testing.T, name, text, fragment string, w window) *page {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return openURL(t, (&url.URL{Scheme: "file", Path: name}).String()+"#"+fragment, w)
}

// rowsOf are functions in the scope of the page's scripts that return the numbers of the selection.
const rowsOf = `
window.rowsOf = {
	graph: () => graphAt().boxes.map(b => ({group: D.groups[b.g].name, share: b.share_ns, running: b.running_ns, p: b.parallelism})),
	tasks: () => shownClasses().filter(taskFilter(state.sel)).map(c => ({class: c.class, tasks: c.tasks, ...c.q})),
	parts: () => shownStacks().flatMap(k => [{n: k.n, value: k.speedup}, ...partsOf(k).map(p => ({n: k.n, value: p.value}))]),
	waited: () => {
		const {waits, pairs} = shownContention(state.sel), f = contentionFilter(state.sel);
		const sum = (rows, of) => rows.reduce((t, row) => t + of(row), 0);
		return sum(pairs.filter(f.pair), q => q.wait_ns) + sum(waits.filter(f.wait), w => w.handoff_ns + w.unattributed_ns);
	},
};
`

// openProbed is openFile with rowsOf, which the policy of the page would reject.
func openProbed(t *testing.T, d *report.Data, fragment string, w window) *page {
	t.Helper()
	var buf bytes.Buffer
	if err := report.Write(&buf, d); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(buf.String(), "")
	before, after, ok := strings.Cut(text, "})();\n</script>")
	if !ok {
		t.Fatal("the script of the page has no end")
	}
	return openText(t, filepath.Join(t.TempDir(), "report.html"), before+rowsOf+"})();\n</script>"+after, fragment, w)
}

// rows decodes the result of one of rowsOf.
func (p *page) rows(of string, into any) {
	p.t.Helper()
	p.must(p.Eval("window.rowsOf."+of+"()", into))
}

// openServed serves data and opens the page with a fragment.
func openServed(t *testing.T, d *report.Data, fragment string, w window) *page {
	t.Helper()
	return openURL(t, serve(t, d).URL+"#"+fragment, w)
}

// inBrowser runs scripts of the page, and then code of a test, in a browser. The input of the code
// is in V, and its function trouble lists errors.
func inBrowser(t *testing.T, scripts []string, input any, code string) {
	t.Helper()
	script := ""
	for _, name := range scripts {
		text, err := os.ReadFile("../../internal/report/page/" + name)
		if err != nil {
			t.Fatal(err)
		}
		script += string(text) + "\n"
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	page := `<!doctype html><meta charset="utf-8"><title>test</title><script>"use strict"; const V = ` + string(data) + ";\n" + script + code + `
document.documentElement.dataset.ready = "true";</script>`
	name := filepath.Join(t.TempDir(), "test.html")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openURL(t, (&url.URL{Scheme: "file", Path: name}).String(), window{Width: 400, Height: 300})
	var trouble []string
	p.must(p.Eval("trouble()", &trouble))
	for _, s := range trouble {
		t.Error(s)
	}
}

func (p *page) wait(condition string) { p.t.Helper(); p.must(p.Wait(condition)) }

func (p *page) click(selector string) { p.t.Helper(); p.must(p.Click(selector)); p.settle() }

// choose selects a value of a list.
func (p *page) choose(selector, value string) {
	p.t.Helper()
	p.must(p.Eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change")) })()`, selector, value), nil))
	p.settle()
}

func (p *page) key(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.must(p.Key(name))
	}
	p.settle()
}

// settle waits until two frames were drawn and no answer is pending.
func (p *page) settle() {
	p.t.Helper()
	p.must(p.Eval(`new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true))), 30))`, nil))
}

func (p *page) text(selector string) string {
	p.t.Helper()
	return p.eval("document.querySelector(%q).innerText", selector)
}

// eval returns the value of an expression as text.
func (p *page) eval(format string, args ...any) string {
	p.t.Helper()
	var s string
	p.must(p.Eval("String("+fmt.Sprintf(format, args...)+")", &s))
	return s
}

// count returns the number of elements that a selector matches.
func (p *page) count(selector string) int {
	p.t.Helper()
	var n int
	p.must(p.Eval(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &n))
	return n
}

// shows fails unless the text of an element has all of the parts.
func (p *page) shows(selector string, parts ...string) {
	p.t.Helper()
	s := p.text(selector)
	for _, part := range parts {
		if !strings.Contains(s, part) {
			p.t.Errorf("%s shows %q, without %q", selector, s, part)
		}
	}
}

// serve serves the page of data.
func serve(t testing.TB, d *report.Data) *httptest.Server {
	t.Helper()
	h, err := report.NewHandler(d, "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// dataOf returns a part of the data in the page, as its scripts get it.
func dataOf(t *testing.T, d *report.Data, part string) json.RawMessage {
	t.Helper()
	var buf bytes.Buffer
	if err := report.Write(&buf, d); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(buf.String(), `id="data">`)
	text, _, ok := strings.Cut(text, "<")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.NewDecoder(z).Decode(&parts); err != nil || !ok || parts[part] == nil {
		t.Fatalf("no %s in the page: %v", part, err)
	}
	return parts[part]
}
