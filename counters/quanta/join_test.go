package quanta

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// TestShare: shares are off by less than one, sum to no more than what is divided, and small
// shares get their part.
func TestShare(t *testing.T) {
	var k rounding
	c := &Counter{Values: make([]int64, 3)}
	for range 1000 {
		k.share(c, 1, []partOf{{0, 10}, {1, 25}}, 100)
	}
	if v := c.Values; v[0] < 98 || v[0] > 102 || v[1] < 248 || v[1] > 252 || v[2] != 0 {
		t.Errorf("10 %% and 25 %% of 1000 single events are %v", v)
	}
	c = &Counter{Values: make([]int64, 3)}
	for range 1000 {
		k.share(c, 7, []partOf{{0, 30}, {1, 70}}, 100) // no other quantum has it
	}
	if v := c.Values; v[0]+v[1] != 7000 || v[0] < 2098 || v[0] > 2102 {
		t.Errorf("30 %% and 70 %% of 7000 events are %v", v)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var parts []partOf
		var all int64
		for row := range random.IntN(4) {
			w := random.Int64N(1_000_000)
			parts = append(parts, partOf{int32(row), w})
			all += w
		}
		all += random.Int64N(1_000_000) + 1 // unattributed
		d := random.Int64N(1 << random.IntN(45))
		c := &Counter{Values: make([]int64, 4)}
		k.share(c, d, parts, all)
		var sum int64
		for i, p := range parts {
			exact := float64(d) * float64(p.time) / float64(all)
			if diff := float64(c.Values[i]) - exact; diff < -1.01 || diff > 1.01 {
				t.Fatalf("%d of %d of %d: %d, exactly %f", p.time, all, d, c.Values[i], exact)
			}
			sum += c.Values[i]
		}
		if sum < 0 || sum > d {
			t.Fatalf("%d were given of %d", sum, d)
		}
	}
}

// TestJoin: samples written down by hand, and what follows from them.
//
// Thread 7 executes row 0 in [100, 200) and row 1 in [300, 500). It has a processor in [50, 150)
// and [250, 600).
func TestJoin(t *testing.T) {
	r := &Recording{Wall: 1000, Groups: []Group{{}}, Funcs: []string{""},
		Goroutine: []int64{1, 2, 3}, Group: []int32{0, 0, 0}, Thread: []int64{7, 7, -1}, Proc: []int32{0, 0, 0},
		Begin: []int64{100, 300, 400}, Duration: []int64{100, 200, 10}}
	const zero = 5000
	m := &archive.Meta{Format: archive.Format, Begin: zero, End: zero + 1000, Switched: []string{archive.TaskClock, archive.CtxSwitches, archive.Preemptions, archive.Migrations},
		Clock: &archive.Event{Name: archive.TaskClock, Total: 460}, Hits: []archive.Event{{Name: "faults", Total: 9}},
		Extra: 1, Groups: [][]archive.Event{{{Name: "cycles", Total: 1000}}}, Period: int64(time.Millisecond)}
	var e archive.Encoder
	var log []byte
	for _, rec := range []perfevent.Record{
		{Kind: perfevent.SwitchIn, Time: 50, CPU: 0},
		{Kind: perfevent.Hit, Time: 99}, {Kind: perfevent.Hit, Time: 100}, {Kind: perfevent.Hit, Time: 199}, {Kind: perfevent.Hit, Time: 200},
		{Kind: perfevent.Preempted, Time: 150, CPU: 0},
		{Kind: perfevent.SwitchIn, Time: 250, CPU: 1},
		{Kind: perfevent.Hit, Time: 450},
		{Kind: perfevent.SwitchOut, Time: 600, CPU: 1},
		{Kind: perfevent.Lost, Value: 4},
		// Nothing, then 200 in [50, 150), half of it of the quantum; then 700 in [250,
		// 600), 200/350 of it of the quantum.
		{Kind: perfevent.Reading, Time: 50, Values: []uint64{0, 0}},
		{Kind: perfevent.Reading, Time: 200, Values: []uint64{0, 200}, Enabled: 100, Running: 100},
		{Kind: perfevent.Reading, Time: 700, Values: []uint64{0, 900}, Enabled: 450, Running: 450},
	} {
		rec.Thread = 7
		rec.Time += zero
		log = e.Append(log, &rec)
	}
	s, err := archive.ReadSamples(bytes.NewReader(log), m)
	if err != nil {
		t.Fatal(err)
	}
	newJoiner(r, zero, m).join(s)
	for name, want := range map[string]struct {
		values           []int64
		total, remainder int64
	}{
		archive.TaskClock:   {[]int64{50, 200, Unknown}, 460, 210},
		archive.CtxSwitches: {[]int64{1, 0, Unknown}, 2, 1},
		archive.Preemptions: {[]int64{1, 0, Unknown}, 1, 0},
		archive.Migrations:  {[]int64{0, 0, Unknown}, 1, 1},
		"faults":            {[]int64{2, 1, Unknown}, 9, 6},
		"cycles":            {[]int64{100, 400, Unknown}, 1000, 500},
	} {
		c := r.Counter(name)
		if c == nil || !slices.Equal(c.Values, want.values) || c.Total != want.total || c.Remainder != want.remainder {
			t.Errorf("%s: %+v, want %+v", name, c, want)
		}
	}
	if len(r.Warnings) != 1 || !bytes.Contains([]byte(r.Warnings[0]), []byte("4 of")) {
		t.Errorf("warnings %q", r.Warnings)
	}
}
