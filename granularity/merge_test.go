package granularity

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// taskProfile is a profile of the given number of tasks of 1 µs each on two processors.
func taskProfile(class string, tasks int) *Profile {
	c := Class{Name: class, Tasks: uint64(tasks), ActiveShare: 1}
	for range tasks {
		c.RunningNS.Add(1000)
		c.WallNS.Add(1000)
	}
	site := Site{Pool: class, Created: []Frame{{Func: "main.f", File: "f.go", Line: tasks}}, Tasks: c.Tasks}
	site.RunningNS.Merge(&c.RunningNS)
	c.Sites = []Site{site}
	return &Profile{Source: SourceTrace, Accuracy: "upper-bound", Wall: time.Second, Procs: 2, Classes: []Class{c}, Warnings: []string{"w"},
		Run: Sample{Wall: time.Second, CPU: time.Second}, Samples: []Sample{{}}, Log: make([]TaskRecord, 3)}
}

func TestMergeInstances(t *testing.T) {
	a, b := taskProfile("x", 10_000), taskProfile("x", 10_000)
	b.Instances = 4
	m := Merge(a, nil, b, taskProfile("y", 7))
	if m.Instances != 6 || m.Wall != 3*time.Second || m.Procs != 2 || m.LogDropped != 9 || m.Samples != nil || len(m.Warnings) != 1 {
		t.Errorf("%d instances, %v, %d processors, %d log entries, warnings %q", m.Instances, m.Wall, m.Procs, m.LogDropped, m.Warnings)
	}
	x := classNamed(t, m, "x")
	if x.Tasks != 20_000 || x.RunningNS.Sum() != 20_000_000 || len(x.Sites) != 1 || x.Sites[0].Tasks != 20_000 {
		t.Errorf("%+v", x)
	}
	if x.ActiveShare < 0.66 || x.ActiveShare > 0.67 || m.Run.Utilization != 0.5 {
		t.Errorf("active for %v of the time, utilization %v; want 2/3, 0.5", x.ActiveShare, m.Run.Utilization)
	}
	if x.Diagnosis != Fine {
		t.Errorf("20,000 tasks of 1 µs are %s: %q", x.Diagnosis, x.Reasons)
	}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, m); err != nil {
		t.Fatal(err)
	}
	if back, err := ReadJSON(&buf); err != nil || back.Instances != 6 {
		t.Errorf("the instances do not survive: %v, %v", back, err)
	}
	// 130 tasks are many for two processors, but few for those of six instances.
	few := taskProfile("z", 130)
	if c := classNamed(t, Merge(few), "z"); c.Diagnosis != Fine {
		t.Errorf("130 tasks on 2 processors: %s", c.Diagnosis)
	}
	few.Instances = 6
	if c := classNamed(t, Merge(few), "z"); c.Diagnosis == Fine {
		t.Error("130 tasks on 12 processors are many")
	}
	if none := Merge(nil); none == nil || len(none.Classes) != 0 {
		t.Error("nothing merged is not an empty profile")
	}
}

// A single profile gives the same result as without merging: the process usage includes the
// collector's time, except for a trace.
func TestMergeKeepsUtilization(t *testing.T) {
	at := time.Now()
	procs := runtime.GOMAXPROCS(0)
	used := time.Duration(procs)*800*time.Millisecond + 200*time.Millisecond // busy, except for the pauses
	run := newSample(&moment{at: at}, &moment{at: at.Add(time.Second), cpu: used, paused: 200 * time.Millisecond}, 0)
	m := Merge(&Profile{Source: "rseq-clock", Procs: procs, Wall: time.Second, Run: run})
	if d := m.Run.Utilization - run.Utilization; d > 1e-9 || d < -1e-9 {
		t.Errorf("used to %g; merged, to %g", run.Utilization, m.Run.Utilization)
	}
}

func TestTop(t *testing.T) {
	total := &Profile{Source: SourceTrace}
	for i := range 60 {
		total = Merge(total, taskProfile(fmt.Sprintf("class %d", i), 10+i)).Top(5)
	}
	var tasks, inSites uint64
	others := 0
	for i := range total.Classes {
		c := &total.Classes[i]
		tasks += c.Tasks
		for j := range c.Sites {
			inSites += c.Sites[j].Tasks
		}
		if c.Name == "(other)" {
			others++
		}
		if len(c.Sites) > 6 {
			t.Errorf("%s has %d sites", c.Name, len(c.Sites))
		}
	}
	if want := uint64(60*10 + 59*30); tasks != want || inSites != want || len(total.Classes) != 6 || others != 1 {
		t.Errorf("%d tasks, %d in sites, want %d; %d classes, %d of them others", tasks, inSites, want, len(total.Classes), others)
	}
}
