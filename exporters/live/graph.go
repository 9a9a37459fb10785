package live

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

var graphEndpoint = endpoint{
	name:       "graph",
	title:      "Bottle graph",
	about:      "Which groups of goroutines limit how well the program scales, in the last seconds. A box is as tall as the group's share of the time, and as wide as the number of goroutines that ran meanwhile. Where few ran, the capacity of the other processors was lost. group=start, creator, goroutine, region, task or /regexp/ groups otherwise, and takes a snapshot for that.",
	forms:      []form{formSVG, formPNG, formText, formJSON, formPprof},
	parameters: append(usual[:len(usual):len(usual)], "group"),
	takes:      atOnce,
	missing:    noSource,
	collect:    (*handler).graph,
}

// atOnce is how long it takes to collect what is there already.
func atOnce(*handler, time.Duration) time.Duration { return 0 }

func (h *handler) graph(ctx context.Context, q query) ([]byte, error) {
	live, err := h.grouped(ctx, q.orDefault(), q.group, q.form == formPprof)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	switch q.form {
	case formSVG, formPNG:
		err = h.draw(&buf, q.form)(picture.Draw(live.Bottle, h.look(live)))
	case formText:
		err = text.Write(&buf, live.Bottle, text.Options{})
	case formJSON:
		g := live.Bottle
		if !h.opt.FilePaths {
			g = trimGraph(g)
		}
		err = bottle.WriteJSON(&buf, g)
	default:
		var p *profile.Profile
		if p, err = pprof.Profile(live.Bottle, pprof.Options{Time: live.From, File: filepath.Base(os.Args[0])}); err == nil {
			err = h.writeProfile(&buf, p)
		}
	}
	return buf.Bytes(), err
}

// draw writes a drawing as SVG or PNG.
func (h *handler) draw(buf *bytes.Buffer, f form) func(*picture.Drawing, error) error {
	return func(d *picture.Drawing, err error) error {
		switch {
		case err != nil:
			return err
		case f == formPNG:
			return h.opt.PNG(buf, d)
		}
		return d.SVG(buf)
	}
}

// look says under a picture when it was taken.
func (h *handler) look(live *bottleneck.Live) picture.Options {
	when := live.To.Format("2006-01-02 15:04:05 MST")
	if h.opt.Title != "" {
		when = h.opt.Title + ", " + when
	}
	return picture.Options{Subtitle: when}
}

// writeProfile writes a profile for pprof, without names of files that tell where it was built.
func (h *handler) writeProfile(buf *bytes.Buffer, p *profile.Profile) error {
	if !h.opt.FilePaths {
		trimProfile(p)
	}
	return p.Write(buf)
}
