package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// names are what Chromium is called, best first.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// ErrMissing tells that there is no Chromium on the machine, or that it cannot be driven there.
var ErrMissing = errors.New("browser: Chromium is not installed (tried chromium and google-chrome)")

// Browser is a running Chromium with a profile of its own, in a temporary folder.
type Browser struct {
	cmd  *exec.Cmd
	pipe *pipe
	dir  string
	done chan struct{}
}

// Start runs Chromium without a window. It gives up with [ErrMissing] where there is none.
func Start() (*Browser, error) {
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("%w: its pipes cannot be handed over on Windows", ErrMissing)
	}
	path := ""
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "bottleneck-browser")
	if err != nil {
		return nil, err
	}
	b := &Browser{dir: dir, done: make(chan struct{})}
	if err := b.start(path); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("browser: %s: %w", path, err)
	}
	return b, nil
}

// start hands two pipes to the process, as its files 3 and 4.
func (b *Browser) start(path string) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	b.cmd = exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+b.dir,
		"--no-sandbox", // the pages are our own, and the sandbox needs rights that a test may not have
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--mute-audio",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", // no network
		"about:blank")
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	err = b.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		ourIn.Close()
		ourOut.Close()
		return err
	}
	b.pipe = newPipe(ourIn, ourOut)
	go func() {
		b.cmd.Wait()
		b.pipe.end()
		ourIn.Close()
		close(b.done)
	}()
	return nil
}

// Close ends the browser and removes what it left.
func (b *Browser) Close() {
	b.pipe.send("", "Browser.close", nil, make(chan message, 1))
	select {
	case <-b.done:
	case <-time.After(5 * time.Second):
		b.cmd.Process.Kill()
		<-b.done
	}
	for range 20 { // its children may still write
		if os.RemoveAll(b.dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
