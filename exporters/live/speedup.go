package live

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

var speedupEndpoint = endpoint{
	name:       "speedup",
	title:      "Speedup stack (estimate)",
	about:      "Why N workers were not N times faster than one, in the last seconds. Nobody has run the same work with one worker, so the speed-up is an estimate: an upper bound if one worker does the same work at the same speed, too large by what is lost in caches and memory and by work that is only done because there are several workers. A program that mostly waits for timers or the network has none.",
	forms:      []form{formSVG, formPNG, formText, formJSON},
	parameters: usual,
	takes:      atOnce,
	missing: func(h *handler) string {
		if h.recorder == nil {
			return "an estimate needs a snapshot, and there is no recorder: live.Options.Recorder is not set"
		}
		return ""
	},
	collect: (*handler).speedup,
}

func (h *handler) speedup(ctx context.Context, q query) ([]byte, error) {
	live, err := h.ofSnapshot(ctx, q.orDefault(), bottleneck.Options{})
	if err != nil {
		return nil, err
	}
	if live.Speedup == nil {
		why := ""
		if live.SpeedupErr != nil {
			why = ": " + format.Clean(live.SpeedupErr.Error())
		}
		return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "there is no estimate for these seconds" + why}
	}
	stacks := []*speedup.Stack{live.Speedup}
	var buf bytes.Buffer
	switch q.form {
	case formSVG, formPNG:
		err = h.draw(&buf, q.form)(picture.DrawStacks(stacks, h.look(live)))
	case formJSON:
		err = speedup.WriteJSON(&buf, stacks...)
	default:
		err = text.WriteStacks(&buf, stacks, text.Options{})
	}
	return buf.Bytes(), err
}
