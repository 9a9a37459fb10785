package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/browser"
)

var theBrowser browser.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	theBrowser.Close()
	os.Exit(code)
}

// tester is a page with checks that end the test.
type tester struct {
	*browser.Page
	t *testing.T
}

// openURL opens an address, and checks at the end of the test that nothing went wrong in the page.
func openURL(t *testing.T, address string, w browser.Window) *tester {
	t.Helper()
	p, err := theBrowser.Test(t).Open(address, w)
	if err != nil {
		t.Fatal(err)
	}
	page := &tester{p, t}
	t.Cleanup(func() {
		for _, e := range p.Errors() {
			if !strings.Contains(e, "status of 422") { // the browser notes each refused query, which the page shows
				t.Errorf("the page says: %s", e)
			}
		}
		p.Close()
	})
	page.wait(`document.documentElement.dataset.ready == "true"`)
	page.settle()
	return page
}

// openFile writes data to a file and opens it with a fragment.
func openFile(t *testing.T, d *Data, fragment string, w browser.Window) *tester {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	var buf bytes.Buffer
	if err := Write(&buf, d, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return openURL(t, (&url.URL{Scheme: "file", Path: name}).String()+"#"+fragment, w)
}

// openServed serves data and opens the page with a fragment.
func openServed(t *testing.T, d *Data, fragment string, w browser.Window) *tester {
	t.Helper()
	return openURL(t, serve(t, d).URL+"#"+fragment, w)
}

// inBrowser runs scripts of the page, and then code of a test, in a browser. The code finds its
// input in V, and its function trouble lists what is wrong.
func inBrowser(t *testing.T, scripts []string, input any, code string) {
	t.Helper()
	script, err := concatenate(scripts)
	if err != nil {
		t.Fatal(err)
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
	p := openURL(t, (&url.URL{Scheme: "file", Path: name}).String(), browser.Window{Width: 400, Height: 300})
	var trouble []string
	p.must(p.Eval("trouble()", &trouble))
	for _, s := range trouble {
		t.Error(s)
	}
}

func (p *tester) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v\nerrors of the page: %s", err, strings.Join(p.Errors(), "\n"))
	}
}

func (p *tester) wait(condition string) { p.t.Helper(); p.must(p.Wait(condition)) }

func (p *tester) click(selector string) { p.t.Helper(); p.must(p.Click(selector)); p.settle() }

// choose takes a value of a list.
func (p *tester) choose(selector, value string) {
	p.t.Helper()
	p.must(p.Eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change")) })()`, selector, value), nil))
	p.settle()
}

func (p *tester) key(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.must(p.Key(name))
	}
	p.settle()
}

// settle waits until two frames were drawn and no answer is awaited.
func (p *tester) settle() {
	p.t.Helper()
	p.must(p.Eval(`new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true))), 30))`, nil))
}

func (p *tester) text(selector string) string {
	p.t.Helper()
	s, err := p.Text(selector)
	p.must(err)
	return s
}

// eval returns the value of an expression as text.
func (p *tester) eval(format string, args ...any) string {
	p.t.Helper()
	var s string
	p.must(p.Eval("String("+fmt.Sprintf(format, args...)+")", &s))
	return s
}

// count is how many elements a selector finds.
func (p *tester) count(selector string) int {
	p.t.Helper()
	var n int
	p.must(p.Eval(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &n))
	return n
}

// shows fails unless the text of an element has all of the parts.
func (p *tester) shows(selector string, parts ...string) {
	p.t.Helper()
	s := p.text(selector)
	for _, part := range parts {
		if !strings.Contains(s, part) {
			p.t.Errorf("%s shows %q, without %q", selector, s, part)
		}
	}
}
