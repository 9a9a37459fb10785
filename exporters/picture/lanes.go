package picture

import (
	"errors"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Lane is the timeline of a goroutine, a processor, a thread or a group.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is a time in which a lane ran, in ns.
type Span struct {
	Begin, End int64
	Busy       float64 // the part of it in which the lane ran
	Ended      string  // preempted, yielded or blocked, if a long quantum ended there
}

// DrawLanes draws timelines one above the other, with a glyph at the end of each long quantum. It
// returns an error if the options are invalid.
func DrawLanes(list []Lane, begin, end int64, sentence string, opt Options) (*Drawing, error) {
	if len(list) == 0 || end <= begin {
		return nil, errors.New("picture: no timelines")
	}
	if err := opt.checkWidth(); err != nil {
		return nil, err
	}
	if opt.Width == 0 {
		opt.Width = seriesWidth
	}
	const left, row, name, size = margin, 15.0, 150.0, 3.0
	sentence = format.Clean(sentence)
	s, y := newPage(opt, "Timelines", sentence, sentence, left, opt.Width)
	st := &strip{x: left + name, w: opt.Width - left - name - margin, begin: begin, end: end}
	marks := lines{stroke: themed(ink), width: 1.2}
	y += 8
	for _, l := range list {
		mid := y + row/2
		s.add(text{x: left, y: mid + 4, s: shorten(format.Clean(l.Name), axisSize, false, name-8), size: axisSize, fill: themed(muted)})
		g := &group{title: format.Clean(l.Name)}
		for _, sp := range l.Spans {
			x0, x1, h := st.px(sp.Begin), st.px(sp.End), max(1, (row-3)*min(1, sp.Busy))
			g.shapes = append(g.shapes, rect{x: x0, y: mid - h/2, w: max(0.5, x1-x0), h: h, fill: rgb(coolColors[0])})
			switch x0, x1 = x1-2*size, x1-1; sp.Ended {
			case "preempted":
				marks.add(x0, mid-size, x1, mid, x0, mid+size, x0, mid-size)
			case "yielded":
				marks.add(x0, mid, x0+size, mid-size, x1, mid, x0+size, mid+size, x0, mid)
			case "blocked":
				marks.add(x0, mid-size, x1, mid-size, x1, mid+size, x0, mid+size, x0, mid-size)
			}
		}
		s.add(g)
		y += row
	}
	s.add(marks)
	axes, y := st.axis(y + 4)
	s.add(axes...)
	return newDrawing(s.finish([]string{"Glyphs at the end of long quanta: a triangle if it was preempted, a diamond if it yielded, a square if it blocked."}, left, y+10), nil, opt)
}

// add adds a path of straight strokes through points.
func (l *lines) add(at ...float64) {
	for i := 0; i+3 < len(at); i += 2 {
		l.segments = append(l.segments, segment{at[i], at[i+1], at[i+2], at[i+3]})
	}
}
