package bottle_test

import (
	"math"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/result"
)

// twoBoxes is a graph of 10 ms on 4 processors: 6 ms of four workers, 3 ms of one, 1 ms idle.
func twoBoxes() *bottle.Graph {
	g := &bottle.Graph{Wall: 10 * time.Millisecond, Idle: time.Millisecond, Boxes: []bottle.Box{
		{Group: "main.work", Kind: bottle.Application, Share: 6 * time.Millisecond, Running: 24 * time.Millisecond, Parallelism: 4, SelfParallelism: 4},
		{Group: "main.merge", Kind: bottle.Application, Share: 3 * time.Millisecond, Running: 3 * time.Millisecond, Parallelism: 1, SelfParallelism: math.NaN()},
	}}
	g.SetProcs(4)
	return g
}

// cell returns the value of a row in a column.
func cell(t *testing.T, table *result.Table, row []result.Value, column string) result.Value {
	t.Helper()
	for k := range table.Columns {
		if table.Columns[k].Name == column {
			return row[k]
		}
	}
	t.Fatalf("there is no column %s", column)
	return result.Value{}
}

// The rows sum to the graph: the shares to the wall time, and the lost capacity to that of the
// graph. The parallelism is that of all groups together, not the mean of the groups.
func TestTableSumsToTheGraph(t *testing.T) {
	g := twoBoxes()
	table := g.Table()
	sums := table.Total()
	if share := cell(t, table, sums, "share_ns"); !share.Known || share.Int != int64(g.Wall) {
		t.Errorf("shares sum to %v, want %v", share, g.Wall)
	}
	if lost := cell(t, table, sums, "lost_ns"); lost.Int != int64(g.Lost()) {
		t.Errorf("lost sums to %v, want %v", lost, g.Lost())
	}
	if p := cell(t, table, sums, "parallelism"); p.Float != 2.7 {
		t.Errorf("the parallelism of all is %v, want 2.7", p)
	}
	if self := cell(t, table, sums, "self_parallelism"); self.Known {
		t.Errorf("the self-parallelism of all is %v, want unknown", self)
	}
	if self := cell(t, table, table.Rows[1], "self_parallelism"); self.Known {
		t.Errorf("a self-parallelism that is not a number is %v", self)
	}
}

// The changes of the shares sum to the change of the time in which at least one goroutine ran.
func TestChangesSumToTheChangeOfBusyTime(t *testing.T) {
	before, after := twoBoxes(), twoBoxes()
	after.Boxes[1].Share, after.Boxes[1].Running = 7*time.Millisecond, 7*time.Millisecond
	after.Wall = 14 * time.Millisecond
	after.SetProcs(4)
	d := bottle.Changes(before, after)
	if change := cell(t, d, d.Rows[0], "share_ns_change"); change.Int != int64(4*time.Millisecond) {
		t.Errorf("main.merge changed by %v, want 4 ms", change)
	}
	if change := cell(t, d, d.Total(), "share_ns_change"); change.Int != int64(after.Wall-before.Wall) {
		t.Errorf("the changes sum to %v", change)
	}
	if p := cell(t, d, d.Total(), "parallelism_before"); p.Known {
		t.Errorf("the parallelism of all rows is %v without their running time", p)
	}
}

func TestSummary(t *testing.T) {
	table := result.New(bottle.Summary(), []bottle.Graph{*twoBoxes()}, 0)
	for name, want := range map[string]float64{"parallelism": 2.7, "lost-%": 13. / 40, "neck-%": 9. / 40, "idle-%": .1, "gc-%": 0} {
		if c := cell(t, table, table.Rows[0], name); !c.Known || math.Abs(c.Float-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, c, want)
		}
	}
	unknown := twoBoxes()
	unknown.SetProcs(0)
	table = result.New(bottle.Summary(), []bottle.Graph{*unknown}, 0)
	if c := cell(t, table, table.Rows[0], "lost-%"); c.Known {
		t.Errorf("lost capacity is %v without GOMAXPROCS", c)
	}
}
