package perfetto

import "github.com/bottleneck-go/bottleneck/timeline"

type Writer = writer

var NewWriter = newWriter

func (w *writer) Observer() timeline.Observer { return &w.observer }

func (w *writer) Close() error { return w.close() }

// SetMax sets the bounds of a trace.
func (w *writer) SetMax(tracks, groups int) { w.maxTracks, w.maxGroups = tracks, groups }
