package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// Lanes holds when goroutines, processors or threads ran, for a timeline of a given width. A
// [Query] has the first seven fields; the answer has all.
type Lanes struct {
	By     string `json:"by"`     // goroutine, proc, thread or group
	Metric string `json:"metric"` // colors the lanes; "" means none
	// From and To bound the time, in ns; both 0 means the whole recording.
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Width int   `json:"width"`           // pixels; 0 means 1000, at most 10000
	Limit int   `json:"limit,omitempty"` // lanes that ran longest; 0 means 100, at most 1000
	// Long is the least number of pixels of a quantum whose ending is shown; 0 means 8.
	Long int `json:"long,omitempty"`

	Unit  string `json:"unit"`
	Lanes []lane `json:"lanes,omitzero"` // sorted by group and number, number, or run time
	// Omitted is the number of lanes beyond the limit; they ran for OmittedBusy.
	Omitted     int   `json:"omitted"`
	OmittedBusy Value `json:"omitted_busy"`
}

// lane is the timeline of one goroutine, processor, thread or group.
type lane struct {
	Key    string `json:"key"`
	Number *int64 `json:"number,omitempty"` // the goroutine, processor or thread
	Group  string `json:"group,omitempty"`  // of a goroutine
	// Busy is the running time between From and To in ns; that of a group may exceed To − From.
	Busy   Value      `json:"busy"`
	Quanta int        `json:"quanta"`
	Cells  []laneCell `json:"cells"`
}

// laneCell is the content of a pixel of a lane, or of several pixels with the same single quantum.
// Pixels without a quantum have no cell. In JSON it is an array of its fields, with null for a Row
// of −1 and for an Ended of OtherEnding.
type laneCell struct {
	X, Width int
	Busy     int64         // ns, rounded
	Quanta   int           // number that overlap the pixel
	Row      int           // the quantum if there is only one, else −1
	Value    Value         // metric of the quantum, or mean weighted by overlap
	Ended    quanta.Ending // how a long quantum ended at the end of the cell, else OtherEnding
}

// MarshalJSON writes [x, width, busy, quanta, row, value, ended].
func (c laneCell) MarshalJSON() ([]byte, error) {
	fields := []any{c.X, c.Width, c.Busy, c.Quanta, nil, c.Value, nil}
	if c.Row >= 0 {
		fields[4] = c.Row
	}
	if c.Ended != quanta.OtherEnding {
		fields[6] = c.Ended
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *laneCell) UnmarshalJSON(data []byte) error {
	var row *int
	fields := []any{&c.X, &c.Width, &c.Busy, &c.Quanta, &row, &c.Value, &c.Ended}
	*c = laneCell{Row: -1, Value: Value(math.NaN())}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if row != nil {
		c.Row = *row
	}
	return nil
}

// pixel adds up the quanta that overlap it.
type pixel struct {
	busy, weight, weighted float64
	value                  float64 // of the only quantum
	n, row                 int32
	ended                  quanta.Ending // of a long quantum that ends here
}

// lanes answers the question of [Lanes] for a set. A quantum is in the pixels from floor(x(begin))
// to ceil(x(end)) − 1, where x(t) = (t − From)/(To − From)·Width.
func (e *Explorer) lanes(ctx context.Context, q Lanes, rows []int) (*Lanes, error) {
	keys, ok := e.by(q.By)
	if !ok || keys.ids == nil && q.By != "group" {
		return nil, fmt.Errorf("no lanes by %s: want goroutine, proc, thread or group", quote(q.By))
	}
	q.Width, q.Limit = cmp.Or(q.Width, 1000), cmp.Or(q.Limit, 100)
	q.Lanes, q.Omitted, q.OmittedBusy, q.Unit = []lane{}, 0, 0, ""
	if q.Limit < 0 || q.Limit > 1000 || q.Width < 0 || q.Width > 10_000 {
		return nil, fmt.Errorf("want at most 1000 lanes of 10000 pixels, got %d of %d", q.Limit, q.Width)
	}
	metric := column(unknown)
	if q.Metric != "" {
		m, err := e.compile(q.Metric)
		if err != nil {
			return nil, err
		}
		metric, q.Metric, q.Unit = m.of, m.name, m.unit.String()
	}
	var err error
	if q.From, q.To, err = e.window(q.From, q.To); err != nil {
		return nil, err
	}
	d := drawer{e: e, out: &q, keys: keys, pixels: make([][]pixel, keys.n)}
	d.tally = keys.tally(rows, func(row int) (int64, bool) {
		begin, end, ok := d.part(row)
		return end - begin, ok
	})
	shown := d.choose()
	if err := visit(ctx, rows, []column{metric}, func(row int, v []float64) { d.draw(row, v[0]) }); err != nil {
		return nil, err
	}
	for _, key := range shown {
		q.Lanes = append(q.Lanes, d.lane(key))
	}
	return &q, nil
}

type drawer struct {
	e    *Explorer
	out  *Lanes
	keys keys
	tally
	pixels [][]pixel // by key; nil if not shown
}

// part returns the part of a quantum within the time shown.
func (d *drawer) part(row int) (begin, end int64, ok bool) {
	begin = d.e.rec.Begin[row]
	end = begin + d.e.rec.Duration[row]
	if begin >= d.out.To || end <= d.out.From && (begin < d.out.From || end < d.out.From) {
		return 0, 0, false
	}
	return max(begin, d.out.From), min(end, d.out.To), true
}

// choose returns the lanes that ran longest, in order.
func (d *drawer) choose() []int32 {
	shown := d.used[:min(d.out.Limit, len(d.used))]
	for _, key := range d.used[len(shown):] {
		d.out.Omitted++
		d.out.OmittedBusy += Value(d.time[key].total())
	}
	if d.keys.ids != nil {
		id := func(key int32) int64 {
			if key == d.keys.unknown {
				return math.MaxInt64 // last
			}
			return d.keys.ids[key]
		}
		slices.SortStableFunc(shown, func(a, b int32) int {
			return cmp.Or(cmp.Compare(d.group(a), d.group(b)), cmp.Compare(id(a), id(b)))
		})
	}
	for _, key := range shown {
		d.pixels[key] = make([]pixel, d.out.Width)
	}
	return shown
}

// group returns the group of a goroutine.
func (d *drawer) group(key int32) string {
	if d.keys.groups == nil {
		return ""
	}
	return d.e.rec.Groups[d.keys.groups[key]].Name
}

// draw adds a quantum to the pixels that it overlaps.
func (d *drawer) draw(row int, value float64) {
	begin, end, ok := d.part(row)
	if !ok {
		return
	}
	pixels := d.pixels[d.keys.of(row)]
	if pixels == nil {
		return
	}
	from, time, width := float64(d.out.From), float64(d.out.To-d.out.From), float64(d.out.Width)
	b, e := float64(begin)-from, float64(end)-from
	first := min(len(pixels)-1, int(b/time*width))
	last := max(first, min(len(pixels)-1, int(math.Ceil(e/time*width))-1))
	for x := first; x <= last; x++ {
		p, overlap := &pixels[x], max(0, min(e, time*float64(x+1)/width)-max(b, time*float64(x)/width))
		p.n++
		p.row, p.value = int32(row), value
		p.busy += overlap
		if value == value {
			p.weight += overlap
			p.weighted += float64(value * overlap)
		}
	}
	if last-first >= cmp.Or(d.out.Long, 8)-1 && d.e.rec.Begin[row]+d.e.rec.Duration[row] <= d.out.To {
		pixels[last].ended = d.e.rec.Ending[row]
	}
}

// lane converts the pixels of a key to cells.
func (d *drawer) lane(key int32) lane {
	out := lane{Key: d.keys.label(key), Number: d.keys.number(key), Group: d.group(key), Busy: Value(d.time[key].total()), Quanta: d.quanta[key], Cells: []laneCell{}}
	busy := 0.0 // of the last cell
	for x, p := range d.pixels[key] {
		if p.n == 0 {
			continue
		}
		cell := laneCell{x, 1, 0, int(p.n), -1, Value(finite(p.weighted / p.weight)), p.ended}
		if p.n == 1 {
			cell.Row, cell.Value = int(p.row), Value(p.value)
		}
		if last := len(out.Cells) - 1; last >= 0 && cell.Row >= 0 && out.Cells[last].Row == cell.Row {
			busy += p.busy
			out.Cells[last].Width++
			out.Cells[last].Ended = p.ended
			out.Cells[last].Busy = int64(math.Round(busy))
			continue
		}
		busy = p.busy
		cell.Busy = int64(math.Round(busy))
		out.Cells = append(out.Cells, cell)
	}
	return out
}
