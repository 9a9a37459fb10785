package main

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// What the terminal is told when the view begins and when it ends: the alternate screen, which
// leaves what was there before as it was; no cursor; no line that goes on in the next.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// ttyScreen is a terminal in the hands of top.
type ttyScreen struct {
	in    *os.File // nil if keys do not come from a terminal
	out   *os.File
	state *term.State // of in before; nil when it is as it was
	watch *terminalWatch
	last  string // the last frame
	size  [2]int // width and height of the last frame
}

// interact shows the view on a terminal. However it ends, the terminal is left as it was found.
func (l *topLoop) interact(ctx context.Context, in io.Reader, out *os.File) error {
	s := &ttyScreen{out: out}
	var keys chan []byte
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.in, keys = f, make(chan []byte)
	}
	s.watch = watchTerminal(out)
	defer s.watch.stop()
	defer s.leave() // a panic, too, must not leave a terminal that shows nothing
	if err := s.enter(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	if keys != nil {
		go readKeys(s.in, keys, done)
	}
	return l.run(ctx, s, keys, s.watch.wake, s.watch.suspend)
}

// readKeys sends what is typed. A read cannot be interrupted: the last one ends with the process.
func readKeys(f *os.File, keys chan<- []byte, done <-chan struct{}) {
	defer close(keys)
	for {
		buf := make([]byte, 64)
		n, err := f.Read(buf)
		if n > 0 {
			select {
			case keys <- buf[:n]:
			case <-done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *ttyScreen) enter() error {
	if s.in != nil {
		state, err := term.MakeRaw(int(s.in.Fd()))
		if err != nil {
			return err
		}
		if s.state == nil { // else it was raw already, or somebody else has changed it meanwhile
			s.state = state
		}
	}
	s.last = ""
	_, err := s.out.WriteString(enterScreen)
	return err
}

func (s *ttyScreen) leave() {
	s.out.WriteString(leaveScreen)
	if s.state != nil {
		term.Restore(int(s.in.Fd()), s.state)
		s.state = nil
	}
}

// suspend leaves the terminal to the shell, and takes it again when the shell lets the process go
// on.
func (s *ttyScreen) suspend() {
	if !s.watch.canStop() {
		return
	}
	s.leave()
	s.watch.stopProcess()
	s.enter() // a terminal that is gone is noticed by the next frame
}

func (s *ttyScreen) options() text.TopOptions {
	if s.watch.continued.Swap(false) {
		s.enter() // the shell had the terminal meanwhile
	}
	t, _ := terminalOf(s.out)
	opt := text.TopOptions{Options: t.textOptions(), Height: 24}
	if _, height, err := term.GetSize(int(s.out.Fd())); err == nil && height > 0 {
		opt.Height = height
	}
	if size := [2]int{opt.Width, opt.Height}; size != s.size {
		s.size, s.last = size, "" // whatever the terminal has made of the last frame
	}
	return opt
}

// show draws a frame over the last one, in one write, so that nothing flickers.
func (s *ttyScreen) show(frame string) error {
	if frame == s.last {
		return nil
	}
	s.last = frame
	_, err := s.out.WriteString(onScreen(frame))
	return err
}

// onScreen is what a terminal in raw mode is sent to show a frame: no line feed after the
// last line, which would scroll.
func onScreen(frame string) string {
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	return "\x1b[H" + strings.Join(lines, "\x1b[K\r\n") + "\x1b[K\x1b[J"
}
