package main

import (
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// tasksDrawing says how a profile of tasks is written, in any form.
type tasksDrawing struct {
	drawing
	creation, submission, strip bool
}

// tasksForms are the forms of profiles of tasks, by the names that graphs have for theirs.
var tasksForms = map[string]func(w io.Writer, p *granularity.Profile, d tasksDrawing) error{
	"text": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		opt := text.TasksOptions{Options: d.terminal.textOptions(), Creation: d.creation, Submission: d.submission, Strip: d.strip}
		opt.Top = d.exporterTop()
		return text.WriteTasks(w, p, opt)
	},
	"json": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		return granularity.WriteJSON(w, d.largest(p))
	},
	"csv": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		return text.TableCSV(w, d.largest(p).Table())
	},
	"md": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		return markdown.Write(w, d.largest(p).ClassTable(p.ByTime()))
	},
	"pprof": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		return pprof.WriteTasks(w, d.largest(p), pprof.TasksOptions{Submission: d.submission, File: d.source})
	},
	"svg": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		if d.strip {
			return picture.StripSVG(w, p, d.picture())
		}
		return picture.TasksSVG(w, p, d.picture())
	},
	"png": func(w io.Writer, p *granularity.Profile, d tasksDrawing) error {
		if d.strip {
			return pixels(w)(picture.DrawStrip(p, d.picture()))
		}
		return pixels(w)(picture.DrawTasks(p, d.picture()))
	},
}

var tasksWritings = formsIn(tasksForms, formNames, usualEndings)

// largest keeps the classes with the largest sums, for the forms that do not do it themselves.
func (d tasksDrawing) largest(p *granularity.Profile) *granularity.Profile {
	if d.top == 0 || d.top >= len(p.Classes) {
		return p
	}
	out := *p
	out.Classes = p.Classes[:d.top]
	return &out
}
