package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// topFile is a graph in a file.
type topFile struct {
	name    string
	read    time.Time // when the file was changed that was read
	size    int64
	graphs  []*bottle.Graph // its windows, or itself
	at      int             // the one to show next
	windows int
}

func newTopFile(name string) (topSource, error) {
	s := &topFile{name: name}
	return s, s.refresh()
}

func (s *topFile) label() string       { return s.name }
func (s *topFile) pace() time.Duration { return time.Second }
func (s *topFile) regroup() (string, error) {
	return "", errors.New("the groups of a file are what they are")
}

// refresh reads the file if it has changed.
func (s *topFile) refresh() error {
	st, err := os.Stat(s.name)
	if err != nil {
		return fileError(s.name, err)
	}
	if s.graphs != nil && st.ModTime().Equal(s.read) && st.Size() == s.size {
		return nil
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: top wants a URL or the JSON of a graph in a regular file, which it reads again when that changes", s.name)
	}
	data, err := os.ReadFile(s.name)
	if err != nil {
		return fileError(s.name, err)
	}
	if !holdsJSON(data[:min(len(data), headLength)]) {
		return fmt.Errorf("%s: top wants a URL or the JSON of a graph; for a trace, run \"bottleneck graph\"", s.name)
	}
	g, err := readSaved(bytes.NewReader(data), s.name, graphKind)
	if err != nil {
		return err
	}
	s.read, s.size, s.at, s.windows = st.ModTime(), st.Size(), 0, len(g.Windows)
	if s.graphs = g.Windows; s.windows == 0 {
		s.graphs = []*bottle.Graph{g}
	}
	return nil
}

func (s *topFile) next(context.Context) (sample topSample, err error) {
	if err := s.refresh(); err != nil {
		return sample, err
	}
	sample.graph = s.graphs[s.at]
	if s.windows > 0 {
		sample.note = fmt.Sprintf("Window %d of %d, from %v on.", s.at+1, s.windows, sample.graph.Start)
	}
	s.at = min(s.at+1, len(s.graphs)-1)
	return sample, nil
}
