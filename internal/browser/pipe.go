package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// pipe speaks the DevTools protocol: JSON messages that end with a zero byte, answered by their id;
// and events, which have none. Both belong to a page by its session.
type pipe struct {
	mu      sync.Mutex // guards what follows, and writing
	w       io.Writer
	last    int
	waiting map[int]chan<- message
	events  map[string]func(method string, params json.RawMessage) // by session
	err     error                                                  // why nothing more will come
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *protocolError  `json:"error,omitempty"`
}

type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data"`
}

func (e *protocolError) Error() string { return e.Message + " " + e.Data }

var errClosed = errors.New("browser: it has ended")

func newPipe(r io.Reader, w io.Writer) *pipe {
	p := &pipe{w: w, waiting: map[int]chan<- message{}, events: map[string]func(string, json.RawMessage){}}
	go p.read(r)
	return p
}

// read hands out what comes until the browser ends.
func (p *pipe) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			p.end()
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		p.mu.Lock()
		answer, event := p.waiting[m.ID], p.events[m.Session]
		delete(p.waiting, m.ID)
		p.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case event != nil && m.Method != "":
			event(m.Method, m.Params)
		}
	}
}

func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errClosed
	for id, c := range p.waiting {
		close(c)
		delete(p.waiting, id)
	}
}

// call sends a command and waits for its answer.
func (p *pipe) call(session, method string, params, result any) error {
	answer := make(chan message, 1)
	if err := p.send(session, method, params, answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	m, ok := <-answer
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", method, errClosed)
	case m.Error != nil:
		return fmt.Errorf("%s: %w", method, m.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

func (p *pipe) send(session, method string, params any, answer chan<- message) error {
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	p.last++
	text, err := json.Marshal(message{ID: p.last, Session: session, Method: method, Params: raw})
	if err != nil {
		return err
	}
	p.waiting[p.last] = answer
	_, err = p.w.Write(append(text, 0))
	return err
}

// listen sets who is told the events of a session. It must not block.
func (p *pipe) listen(session string, f func(method string, params json.RawMessage)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events[session] = f
}
