package browser

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Window is how a page is looked at.
type Window struct {
	// Width and Height are in CSS pixels, Scale is how many of the screen make one of them; 0
	// means 1.
	Width, Height int
	Scale         float64
	// Dark prefers dark pages.
	Dark bool
	// Reduced asks for no motion.
	Reduced bool
}

// Page is an open page.
type Page struct {
	b       *Browser
	target  string
	session string

	mu     sync.Mutex
	errors []string
	loaded chan struct{}
	once   sync.Once
}

// loadTime is how long a page may take to load, and a condition to become true.
const loadTime = 30 * time.Second

// Open opens a page and waits until it is loaded.
func (b *Browser) Open(url string, w Window) (*Page, error) {
	p := &Page{b: b, loaded: make(chan struct{})}
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.pipe.call("", "Target.createTarget", params{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	p.target = target.ID
	if err := b.pipe.call("", "Target.attachToTarget", params{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p.session = attached.Session
	b.pipe.listen(p.session, p.event)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := p.call(domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	if err := p.Resize(w); err != nil {
		return nil, err
	}
	var nav struct {
		Error string `json:"errorText"`
	}
	if err := p.call("Page.navigate", params{"url": url}, &nav); err != nil {
		return nil, err
	}
	if nav.Error != "" {
		return nil, fmt.Errorf("browser: %s: %s", url, nav.Error)
	}
	select {
	case <-p.loaded:
		return p, nil
	case <-time.After(loadTime):
		return nil, fmt.Errorf("browser: %s: not loaded after %v", url, loadTime)
	}
}

type params map[string]any

func (p *Page) call(method string, in, out any) error {
	return p.b.pipe.call(p.session, method, in, out)
}

// event collects what goes wrong in the page.
func (p *Page) event(method string, raw json.RawMessage) {
	switch method {
	case "Page.loadEventFired":
		p.once.Do(func() { close(p.loaded) })
	case "Runtime.exceptionThrown":
		var e struct {
			Details exception `json:"exceptionDetails"`
		}
		json.Unmarshal(raw, &e)
		p.note(e.Details.String())
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string         `json:"type"`
			Args []remoteObject `json:"args"`
		}
		json.Unmarshal(raw, &e)
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.note(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
		}
	case "Log.entryAdded": // the browser's own words, such as those on the content security policy
		var e struct {
			Entry struct{ Level, Source, Text, URL string }
		}
		json.Unmarshal(raw, &e)
		if strings.Contains(e.Entry.Text+e.Entry.URL, "/favicon.ico") {
			return // the browser asks for it now and then, for pages and pictures that say nothing of an icon
		}
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.note(fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

func (p *Page) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, s)
}

// Errors returns the console's errors and warnings, exceptions that nobody caught, and violations
// of the content security policy since the page was opened.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.errors...)
}

// remoteObject is a value of the page.
type remoteObject struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

func (o remoteObject) String() string {
	if o.Description != "" {
		return o.Description
	}
	return string(o.Value)
}

type exception struct {
	Text      string       `json:"text"`
	Line      int          `json:"lineNumber"`
	Exception remoteObject `json:"exception"`
}

func (e *exception) String() string {
	return fmt.Sprintf("%s %v (line %d)", e.Text, e.Exception, e.Line+1)
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and stores its value,
// which must be one that JSON can hold, in out, unless that is nil.
func (p *Page) Eval(expression string, out any) error {
	var result struct {
		Result    remoteObject `json:"result"`
		Exception *exception   `json:"exceptionDetails"`
	}
	err := p.call("Runtime.evaluate", params{"expression": expression, "returnByValue": true, "awaitPromise": true}, &result)
	if err != nil {
		return err
	}
	if result.Exception != nil {
		return fmt.Errorf("browser: %.200s: %v", expression, result.Exception)
	}
	if out == nil {
		return nil
	}
	if len(result.Result.Value) == 0 {
		return fmt.Errorf("browser: %.200s: is %s", expression, result.Result.Type)
	}
	if err := json.Unmarshal(result.Result.Value, out); err != nil {
		return fmt.Errorf("browser: %.200s: %w", expression, err)
	}
	return nil
}

// errNever is that a condition did not become true.
var errNever = errors.New("never became true")

// Wait waits until an expression, or the promise that it is, is true.
func (p *Page) Wait(condition string) error {
	for end := time.Now().Add(loadTime); ; time.Sleep(10 * time.Millisecond) {
		var ok bool
		if err := p.Eval("Promise.resolve("+condition+").then(Boolean)", &ok); err != nil {
			return err
		}
		if ok {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("browser: %s: %w; errors of the page: %s", condition, errNever, strings.Join(p.Errors(), "; "))
		}
	}
}

// Text returns the visible text of the first element that a selector finds.
func (p *Page) Text(selector string) (s string, err error) {
	err = p.Eval("document.querySelector("+quote(selector)+").innerText", &s)
	return s, err
}

// Resize changes the window.
func (p *Page) Resize(w Window) error {
	if w.Scale == 0 {
		w.Scale = 1
	}
	scheme, motion := "light", "no-preference"
	if w.Dark {
		scheme = "dark"
	}
	if w.Reduced {
		motion = "reduce"
	}
	err := p.call("Emulation.setDeviceMetricsOverride", params{"width": w.Width, "height": w.Height, "deviceScaleFactor": w.Scale, "mobile": false}, nil)
	if err != nil {
		return err
	}
	return p.call("Emulation.setEmulatedMedia", params{"features": []params{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
	}}, nil)
}

// Screenshot returns what is in the window, or the whole page, as a PNG.
func (p *Page) Screenshot(whole bool) ([]byte, error) {
	var shot struct {
		Data string `json:"data"`
	}
	if err := p.call("Page.captureScreenshot", params{"format": "png", "captureBeyondViewport": whole}, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}

// Close closes the page.
func (p *Page) Close() error {
	return p.b.pipe.call("", "Target.closeTarget", params{"targetId": p.target}, nil)
}

// quote writes a string as JavaScript.
func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
