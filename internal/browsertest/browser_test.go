// Package browsertest opens the pages of packages report and live in a headless Chromium, and uses
// them with mouse and keyboard. It is a module of its own, because only its tests need a client of
// the DevTools protocol. Without Chromium, its tests are skipped.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// theBrowser is shared by all tests. The first one that needs it starts it.
var theBrowser struct {
	start sync.Once
	ctx   context.Context
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if theBrowser.ctx != nil {
		ctx, cancel := context.WithTimeout(theBrowser.ctx, 10*time.Second)
		chromedp.Cancel(ctx)
		cancel()
	}
	os.Exit(code)
}

func startBrowser() {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.DisableGPU,
		chromedp.NoSandbox, // the pages are ours, and the sandbox may need rights that a test lacks
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")) // no network
	alloc, _ := chromedp.NewExecAllocator(context.Background(), options...)
	theBrowser.ctx, _ = chromedp.NewContext(alloc)
	theBrowser.err = chromedp.Do(theBrowser.ctx)
}

// window is the window of a page: its size in CSS pixels, and the number of screen pixels per CSS
// pixel, where 0 means 1.
type window struct {
	Width, Height int64
	Scale         float64
	Dark          bool // prefers dark pages
}

// page is an open page, with checks that end the test.
type page struct {
	ctx context.Context
	t   testing.TB

	mu     sync.Mutex
	errors []string
}

// open opens an address in a tab of its own, and waits until it is loaded. The end of the test
// closes it.
func open(t testing.TB, address string, w window) *page {
	t.Helper()
	theBrowser.start.Do(startBrowser)
	if theBrowser.err != nil {
		testenv.Missing(t, "Chromium cannot be started: ", theBrowser.err)
	}
	ctx, closePage := chromedp.NewContext(theBrowser.ctx)
	t.Cleanup(closePage)
	p := &page{ctx: ctx, t: t}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err == nil {
				p.note(m)
			}
		}
	}()
	p.resize(w)
	p.must(p.do(chromedp.Navigate(address)))
	return p
}

// note records errors in the page.
func (p *page) note(m chromedp.ConsoleMessage) {
	switch {
	case !slices.Contains([]chromedp.ConsoleType{"error", "warning", "assert", chromedp.ConsoleException}, m.Type):
	case path.Base(m.URL) == "favicon.ico" || strings.Contains(m.Text, "/favicon.ico"):
		// The browser sometimes requests it for pages and pictures without an icon.
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors = append(p.errors, fmt.Sprintf("%s %s (%s:%d)", m.Source, m, m.URL, m.Line+1))
	}
}

// Errors returns the errors and warnings of the console, uncaught exceptions, and violations of the
// content security policy since the page was opened.
func (p *page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// patience is the maximum time for loading a page and for a condition to become true.
const patience = 30 * time.Second

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

func (p *page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v\nerrors of the page: %s", err, strings.Join(p.Errors(), "\n"))
	}
}

func (p *page) resize(w window) {
	p.t.Helper()
	scheme := "light"
	if w.Dark {
		scheme = "dark"
	}
	p.must(chromedp.Do(p.ctx, chromedp.EmulateViewport(w.Width, w.Height, chromedp.EmulateScale(max(1, w.Scale)))))
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.must(err)
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and stores its value
// in out, unless that is nil.
func (p *page) Eval(expression string, out any) error {
	if out == nil {
		if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[chromedp.Void](expression, chromedp.EvalAwaitPromise)); err != nil {
			return fmt.Errorf("%.200s: %w", expression, err)
		}
		return nil
	}
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
	if err == nil {
		err = json.Unmarshal(value, out)
	}
	if err != nil {
		return fmt.Errorf("%.200s: %w", expression, err)
	}
	return nil
}

// Wait waits until an expression or its promise is true.
func (p *page) Wait(condition string) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var ok bool
		if err := p.Eval("Promise.resolve("+condition+").then(Boolean)", &ok); err != nil || ok {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: never became true; errors of the page: %s", condition, strings.Join(p.Errors(), "; "))
		}
	}
}

// Screenshot returns the whole page, or the visible part, as a PNG.
func (p *page) Screenshot(whole bool) ([]byte, error) {
	if whole {
		return chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	}
	return chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
}

// point is a place in the window, in CSS pixels.
type point struct{ X, Y float64 }

// Find scrolls the first element that a selector matches into view and returns its center. It is an
// error if there is none, if it has no size, or if another element covers it.
func (p *page) Find(selector string) (point, error) {
	var at struct {
		point
		Trouble string
	}
	err := p.Eval(fmt.Sprintf(`(s => {
		const e = document.querySelector(s);
		if (!e) return {Trouble: "not found"};
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
		if (!r.width || !r.height) return {Trouble: "has no size"};
		const top = document.elementFromPoint(x, y);
		if (!top) return {Trouble: "is outside of the window"};
		if (!e.contains(top) && !top.contains(e)) return {Trouble: "is covered by " + top.outerHTML.slice(0, 200)};
		return {X: x, Y: y, Trouble: ""};
	})(%q)`, selector), &at)
	if err == nil && at.Trouble != "" {
		err = fmt.Errorf("%s %s", selector, at.Trouble)
	}
	return at.point, err
}

// Click clicks in the center of the first element that a selector matches.
func (p *page) Click(selector string) error {
	at, err := p.Find(selector)
	return errors.Join(err, p.Drag(at, at))
}

// Move moves the mouse, with no button pressed.
func (p *page) Move(at point) error {
	return p.do(chromedp.MouseEvent(chromedp.MouseMoved, at.X, at.Y))
}

// Drag presses the button at one place and releases it at another, in some steps.
func (p *page) Drag(from, to point) error {
	held := func(e *input.DispatchMouseEventParams) { e.Buttons = 1 }
	steps := []chromedp.Action[chromedp.Void]{chromedp.MouseEvent(chromedp.MouseMoved, from.X, from.Y),
		chromedp.MouseEvent(chromedp.MousePressed, from.X, from.Y, chromedp.ButtonLeft, chromedp.ClickCount(1), held)}
	const moves = 6
	for i := 1; from != to && i <= moves; i++ {
		f := float64(i) / moves
		steps = append(steps, chromedp.MouseEvent(chromedp.MouseMoved, from.X+f*(to.X-from.X), from.Y+f*(to.Y-from.Y), chromedp.ButtonLeft, held))
	}
	return p.do(append(steps, chromedp.MouseEvent(chromedp.MouseReleased, to.X, to.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)))...)
}

// Type types text into the element with the focus.
func (p *page) Type(text string) error {
	_, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// Fill replaces the text of an input field, and presses Enter.
func (p *page) Fill(selector, text string) error {
	if err := errors.Join(p.Click(selector), p.Eval("document.activeElement.select()", nil)); err != nil {
		return err
	}
	if text == "" {
		return errors.Join(p.Key("Delete"), p.Key("Enter"))
	}
	return errors.Join(p.Type(text), p.Key("Enter"))
}

// Key presses and releases a key, by its name in the DOM, such as "ArrowLeft", "Enter", " ", "a",
// perhaps with Shift: "Shift+Tab".
func (p *page) Key(name string) error {
	var held []chromedp.KeyOption
	if rest, ok := strings.CutPrefix(name, "Shift+"); ok {
		name, held = rest, append(held, chromedp.KeyModifiers(chromedp.ModifierShift))
	}
	for r, key := range kb.Keys {
		if key.Key == name {
			return p.do(chromedp.KeyEvent(string(r), held...))
		}
	}
	return fmt.Errorf("unknown key %q", name)
}

const inputPage = `<!doctype html><title>t</title><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">
<button id=b onclick="this.textContent='clicked'">press</button><input id=i><div id=d style="width:100px;height:20px">drag</div><p id=o></p>
<script>
let from; d.onmousedown = e => from = e.clientX; document.onmouseup = e => { if (from) o.textContent = "dragged " + (e.clientX - from) };
i.onkeydown = e => { if (e.key == "Enter" && e.shiftKey) o.textContent = "typed " + i.value };
</script>`

// A click, a drag and keys have the effect of a person's.
func TestInput(t *testing.T) {
	p := open(t, "data:text/html,"+url.PathEscape(inputPage), window{Width: 400, Height: 300})
	p.must(p.Click("#b"))
	p.must(p.Wait(`b.textContent == "clicked"`))
	p.must(p.Click("#i"))
	p.must(p.Type("hello"))
	p.must(p.Key("Shift+Enter"))
	p.shows("#o", "typed hello")
	at, err := p.Find("#d")
	p.must(err)
	p.must(p.Drag(at, point{at.X + 42, at.Y}))
	p.shows("#o", "dragged 42")
	if err := p.Click("#none"); err == nil {
		t.Error("a click on nothing succeeds")
	}
}

// Errors in a page are not lost: exceptions, the console, the content security policy.
func TestErrors(t *testing.T) {
	p := open(t, "data:text/html,"+url.PathEscape(inputPage), window{Width: 400, Height: 300})
	p.must(p.Eval(`console.error("e1"); setTimeout(() => { throw new Error("e2") }); document.body.append(Object.assign(new Image, {src: "data:image/png;base64,AAAA"})); 0`, nil))
	for _, want := range []string{"e1", "e2", "Content Security Policy"} {
		for end := time.Now().Add(patience); !strings.Contains(strings.Join(p.Errors(), "\n"), want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no %q in the errors of the page: %q", want, p.Errors())
			}
		}
	}
	if err := p.Eval("nothing.at.all", nil); err == nil {
		t.Error("an exception is no error")
	}
	// The browser itself requests an icon that no page has.
	icon := &page{}
	icon.note(chromedp.ConsoleMessage{Type: "error", Source: "network", Text: "status of 404", URL: "http://127.0.0.1:1/favicon.ico"})
	if errs := icon.Errors(); len(errs) > 0 {
		t.Errorf("%q", errs)
	}
	icon.note(chromedp.ConsoleMessage{Type: "error", Source: "network", Text: "status of 404", URL: "http://127.0.0.1:1/page.css"})
	if errs := icon.Errors(); len(errs) != 1 || !strings.Contains(errs[0], "page.css") {
		t.Errorf("%q; want the missing part", errs)
	}
}
