package browser

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
)

const testPage = `<!doctype html><title>t</title><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">
<button id=b onclick="this.textContent='clicked'">press</button><input id=i><div id=d style="width:100px;height:20px">drag</div><p id=o></p>
<script>
let from; d.onmousedown = e => from = e.clientX; document.onmouseup = e => { if (from) o.textContent = "dragged " + (e.clientX - from) };
i.onkeydown = e => { if (e.key == "Enter" && e.shiftKey) o.textContent = "typed " + i.value };
</script>`

func openTest(t *testing.T) *Page {
	b := Test(t)
	t.Cleanup(b.Close)
	p, err := b.Open("data:text/html,"+url.PathEscape(testPage), Window{Width: 400, Height: 300})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A click, a drag and keys do to a page what a person's do.
func TestInput(t *testing.T) {
	p := openTest(t)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(p.Click("#b"))
	do(p.Wait(`b.textContent == "clicked"`))
	do(p.Click("#i"))
	do(p.Type("hello"))
	do(p.Key("Shift+Enter"))
	if s, err := p.Text("#o"); err != nil || s != "typed hello" {
		t.Errorf("after typing: %q, %v", s, err)
	}
	at, err := p.Find("#d")
	do(err)
	do(p.Drag(at, Point{at.X + 42, at.Y}))
	if s, _ := p.Text("#o"); s != "dragged 42" {
		t.Errorf("after dragging: %q", s)
	}
	if err := p.Click("#none"); err == nil {
		t.Error("a click on nothing succeeds")
	}
	png, err := p.Screenshot(false)
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("screenshot: %v", err)
	}
	do(p.Close())
}

// What goes wrong in a page is not lost: exceptions, the console, the content security policy.
func TestErrors(t *testing.T) {
	p := openTest(t)
	p.Eval(`console.error("e1"); setTimeout(() => { throw new Error("e2") }); document.body.append(Object.assign(new Image, {src: "data:image/png;base64,AAAA"})); 0`, nil)
	p.Wait(`new Promise(f => setTimeout(() => f(true), 100))`)
	all := strings.Join(p.Errors(), "\n")
	for _, want := range []string{"e1", "e2", "Content Security Policy"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the errors of the page:\n%s", want, all)
		}
	}
	if err := p.Eval("nothing.at.all", nil); err == nil {
		t.Error("an exception is no error")
	}
}

// That a server has no icon is nobody's fault: the browser asks for it by itself, sometimes.
func TestNoIcon(t *testing.T) {
	p := &Page{}
	p.event("Log.entryAdded", []byte(`{"entry": {"level": "error", "source": "network", "text": "status of 404", "url": "http://127.0.0.1:1/favicon.ico"}}`))
	if errs := p.Errors(); len(errs) > 0 {
		t.Errorf("%q", errs)
	}
	p.event("Log.entryAdded", []byte(`{"entry": {"level": "error", "source": "network", "text": "status of 404", "url": "http://127.0.0.1:1/page.css"}}`))
	if errs := p.Errors(); len(errs) != 1 || !strings.Contains(errs[0], "page.css") {
		t.Errorf("%q; want what is missing", errs)
	}
}
