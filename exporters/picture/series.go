package picture

import (
	"errors"
	"math"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// Series is a value over time, one for each of equally long intervals from Begin to End, in ns. NaN
// is an unknown value.
type Series struct {
	// Name stands above the panel. Series with the same Scale, such as the name of a metric, are
	// drawn on the same scale.
	Name, Scale string
	Unit        result.Unit // Duration, Bytes or Number
	Begin, End  int64
	Values      []float64
}

// DrawSeries lays out values over time, a panel for each, below a heading with the given sentence.
// It returns an error if the options are invalid.
func DrawSeries(list []Series, sentence string, opt Options) (*Drawing, error) {
	if len(list) == 0 {
		return nil, errors.New("picture: no series")
	}
	if err := opt.checkWidth(); err != nil {
		return nil, err
	}
	if opt.Width == 0 {
		opt.Width = seriesWidth
	}
	const left = margin + axisRoom
	s, y := newPage(opt, "Counters over time", format.Clean(sentence), format.Clean(sentence), left, opt.Width)
	most := map[string]float64{}
	st := &strip{x: left, w: opt.Width - left - margin - 24, begin: list[0].Begin, end: max(list[0].End, list[0].Begin+1)}
	for _, l := range list {
		for _, v := range l.Values {
			if v == v && !math.IsInf(v, 0) {
				most[l.Scale] = max(most[l.Scale], v)
			}
		}
	}
	for _, l := range list {
		top := most[l.Scale]
		if top == 0 {
			top = 1
		}
		step := niceStep(top, 3)
		top = step * math.Ceil(top/step-1e-9)
		var ticks []tick
		for i := 0; float64(i)*step <= top*1.001; i++ {
			ticks = append(ticks, tick{float64(i) * step / top, l.label(float64(i) * step)})
		}
		shapes, base := st.panel(format.Clean(l.Name), ticks, y)
		s.add(shapes...)
		s.add(st.bars(l, base, top))
		y = base + 6
	}
	axes, y := st.axis(y)
	s.add(axes...)
	return newDrawing(s.finish([]string{"Each bar is the mean over the quanta that begin in its interval; where there is none, no quantum with a known value begins."}, left, y+10), nil, opt)
}

const seriesWidth = 960.0

// label formats a value of the axis.
func (l *Series) label(v float64) string {
	if l.Unit == result.Number || v == 0 {
		return format.Quantity(v)
	}
	return l.Unit.Format(result.Int(int64(v)))
}

// bars draws the values as bars from the base of a panel up.
func (st *strip) bars(l Series, base, top float64) *group {
	g := &group{title: format.Clean(l.Name)}
	width := float64(st.end-st.begin) / float64(max(1, len(l.Values)))
	for i, v := range l.Values {
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		x0, x1 := st.px(st.begin+int64(float64(i)*width)), st.px(st.begin+int64(float64(i+1)*width))
		h := max(0.8, panel*v/top)
		g.shapes = append(g.shapes, rect{x: x0, y: base - h, w: x1 - x0, h: h, fill: rgb(coolColors[0])})
	}
	return g
}
