package live

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

var contentionEndpoint = endpoint{
	name:       "contention",
	title:      "Contention",
	about:      "Who waited for locks, channels and so on in the last seconds, and who held them meanwhile. Inferred from the execution trace: what cannot be known is called unattributed. Profiles have three views: view=owner (default), waiter, joined.",
	forms:      []form{formSVG, formPNG, formText, formJSON, formPprof},
	parameters: append(usual[:len(usual):len(usual)], "view"),
	takes:      atOnce,
	missing:    noSource,
	collect:    (*handler).contention,
}

func (h *handler) contention(ctx context.Context, q query) ([]byte, error) {
	live, err := h.report(ctx, q.orDefault(), false)
	if err != nil {
		return nil, err
	}
	p := live.Contention
	if p == nil {
		p = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
	}
	if !h.opt.FilePaths {
		p = trimContention(p)
	}
	var buf bytes.Buffer
	switch q.form {
	case formSVG, formPNG:
		err = h.draw(&buf, q.form)(picture.DrawContention(p, picture.ContentionOptions{Options: h.look(live)}))
	case formText:
		err = text.WriteContention(&buf, p, text.ContentionOptions{})
	case formJSON:
		err = contention.WriteJSON(&buf, p)
	default:
		var prof *profile.Profile
		if prof, err = pprof.Contention(p, pprof.ContentionOptions{View: q.view, File: filepath.Base(os.Args[0])}); err == nil {
			if prof.TimeNanos == 0 && !live.From.IsZero() {
				prof.TimeNanos = live.From.UnixNano()
			}
			err = h.writeProfile(&buf, prof)
		}
	}
	return buf.Bytes(), err
}
