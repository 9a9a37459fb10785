package host

import (
	"math"
	"runtime"
	"testing"
	"testing/fstest"
	"time"
)

func TestQuota(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"no control groups", nil, none},
		{"version 2, no limit", map[string]string{"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n"}, none},
		{"version 2", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5},
		{"version 2, the parent has less", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n"}, 2},
		{"version 2 in a container that shows the path of the host", map[string]string{"proc/self/cgroup": "0::/docker/0a1b\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, .5},
		{"version 1", map[string]string{"proc/self/cgroup": "5:memory:/m\n4:cpu,cpuacct:/x\n0::/\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "300000\n", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 3},
		{"version 1, no limit", map[string]string{"proc/self/cgroup": "4:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, none},
		{"not numbers", map[string]string{"proc/self/cgroup": "0::/\nx\n:\n", "sys/fs/cgroup/cpu.max": "lots"}, none},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := quota(root); got != c.want {
			t.Errorf("%s: %v processors, want %v", c.name, got, c.want)
		}
	}
}

// TestThrottled: among the cgroups of the process, the most throttled one counts.
func TestThrottled(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Throttling
	}{
		{"no control groups", nil, Throttling{}},
		{"no quota", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nuser_usec 3\n"}, Throttling{}},
		{"version 2, the parent is throttled", map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n", "sys/fs/cgroup/a/cpu.stat": "nr_periods 90\nnr_throttled 9\nthrottled_usec 77\n"}, Throttling{90, 9, 77 * time.Microsecond}},
		{"version 1", map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/x\n", "sys/fs/cgroup/cpu,cpuacct/x/cpu.stat": "nr_periods 70\nnr_throttled 7\nthrottled_time 77\n"}, Throttling{70, 7, 77}},
		{"not numbers", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "nr_throttled\nnr_periods x\n\n"}, Throttling{}},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := throttled(root, Groups(root, "cpu")); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (Throttling{10, 4, 50}).Since(Throttling{6, 1, 20}); got != (Throttling{4, 3, 30}) {
		t.Errorf("since: %+v", got)
	}
}

// TestGroupTime: the nearest control group that counts processor time, in either version.
func TestGroupTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  time.Duration
	}{
		{"no control groups", nil, 0},
		{"version 2: its own, not the parent's", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nuser_usec 3\n", "sys/fs/cgroup/a/cpu.stat": "usage_usec 9\n"}, 5 * time.Microsecond},
		{"version 2 in a container that shows the path of the host", map[string]string{"proc/self/cgroup": "0::/docker/0a1b\n", "sys/fs/cgroup/cpu.stat": "usage_usec 7\n"}, 7 * time.Microsecond},
		{"version 1", map[string]string{"proc/self/cgroup": "4:cpu:/y\n3:cpuacct:/x\n0::/\n", "sys/fs/cgroup/cpuacct/x/cpuacct.usage": "77\n", "sys/fs/cgroup/cpuacct/cpuacct.usage": "99\n"}, 77},
		{"version 1, one mount for both", map[string]string{"proc/self/cgroup": "3:cpu,cpuacct:/x\n", "sys/fs/cgroup/cpu,cpuacct/x/cpuacct.usage": "78\n"}, 78},
		{"not numbers", map[string]string{"proc/self/cgroup": "3:cpuacct:/\n0::/\n", "sys/fs/cgroup/cpuacct/cpuacct.usage": "lots", "sys/fs/cgroup/cpu.stat": "usage_usec\n"}, 0},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := groupTime(root, nearest(root)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if before := GroupTime(); before > 0 {
		for began := time.Now(); GroupTime() <= before; {
			if time.Since(began) > 30*time.Second {
				t.Fatal("this process runs, but its control group uses no processor time")
			}
		}
	}
}

func TestProcessorsAreAtMostThoseOfTheMachine(t *testing.T) {
	if n := Processors(); !(n > 0) || n > float64(runtime.NumCPU()) {
		t.Errorf("%v processors of %d", n, runtime.NumCPU())
	}
}
