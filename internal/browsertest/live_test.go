package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// serveLive serves the pages of a program in which two goroutines contend for a lock, with
// everything that the index page can show.
func serveLive(t *testing.T) string {
	t.Helper()
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	var mu sync.Mutex
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					mu.Lock()
					time.Sleep(time.Millisecond)
					mu.Unlock()
				}
			}
		})
	}
	t.Cleanup(func() { close(done); wg.Wait() })
	h := live.Handler(live.Options{Title: "shop", Continuous: c, Tasks: granularity.NewRecorder(), AllowRemote: true, Full: full.Pages})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	for { // until there is data
		resp, err := http.Get(s.URL + "/graph?format=svg")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return s.URL + "/"
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Chromium shows the index page and its picture without a violation of its policy, light and dark,
// on a large and a small screen. With the environment variable LIVE_LOOKS, the pictures are kept
// there.
func TestLiveIndex(t *testing.T) {
	base := serveLive(t)
	for name, w := range map[string]window{
		"light": {Width: 1100, Height: 900}, "dark": {Width: 1100, Height: 900, Dark: true}, "phone": {Width: 360, Height: 800, Dark: true},
	} {
		p := open(t, base, w)
		var seen struct {
			Pictures, Width, Wide int
			Background            string
		}
		p.must(p.Eval(`({Pictures: [...document.images].filter(i => i.complete && i.naturalWidth > 0).length, Width: document.documentElement.scrollWidth,
			Wide: innerWidth, Background: getComputedStyle(document.body).backgroundColor})`, &seen))
		if seen.Pictures != 1 {
			t.Errorf("%s: %d pictures are shown", name, seen.Pictures)
		}
		if seen.Width > seen.Wide {
			t.Errorf("%s: the page is %d wide, the window %d", name, seen.Width, seen.Wide)
		}
		if dark := seen.Background == "rgb(13, 17, 23)"; dark != w.Dark {
			t.Errorf("%s: the background is %s", name, seen.Background)
		}
		if err := p.Wait(`(async () => { const i = new Image; i.src = document.querySelector("link[rel=icon]").href; await i.decode(); return i.naturalWidth > 0 })()`); err != nil {
			t.Errorf("%s: the icon cannot be shown: %v", name, err)
		}
		p.keep(t, "index-"+name)
	}
}

// A picture opened by itself keeps its styles under its strict policy.
func TestLivePictures(t *testing.T) {
	base := serveLive(t)
	for _, path := range []string{"graph", "contention", "tasks"} {
		p := open(t, base+path, window{Width: 1100, Height: 700, Dark: true})
		if fill := p.eval(`getComputedStyle(document.querySelector("svg .paper")).fill`); fill != "rgb(13, 17, 23)" {
			t.Errorf("%s: the paper is %s: its style sheet is not in force", path, fill)
		}
		p.keep(t, path)
	}
}

// keep checks that there was no error in the page, and saves a picture of it if requested.
func (p *page) keep(t *testing.T, name string) {
	t.Helper()
	if errs := p.Errors(); len(errs) > 0 {
		t.Errorf("%s: %q", name, errs)
	}
	if dir := os.Getenv("LIVE_LOOKS"); dir != "" {
		png, err := p.Screenshot(true)
		p.must(err)
		p.must(os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666))
	}
}
