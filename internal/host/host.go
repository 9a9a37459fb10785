// Package host returns what the machine and its control groups let this process use.
package host

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Processors returns the number of processors available to this process: those that it may run on
// (runtime.NumCPU), or the quota of its control group if that is lower. A quota may be a fraction.
// The answer is that of the first call.
var Processors = sync.OnceValue(func() float64 {
	n := float64(runtime.NumCPU())
	if runtime.GOOS == "linux" {
		n = min(n, quota(os.DirFS("/")))
	}
	return n
})

// quota returns the lowest processor quota of the control groups of the process, of either version,
// or infinity if there is none.
func quota(root fs.FS) float64 {
	least := math.Inf(1)
	for _, dir := range Groups(root, "cpu") {
		least = min(least, cpuQuota(root, dir))
	}
	return least
}

// Groups returns the directories of the control groups of this process, of version 2 or of a
// controller of version 1: its own and their ancestors. In a container the path may be that of the host,
// with the container's group at the root of the mount, which always exists. Not all of the
// directories exist.
func Groups(root fs.FS, controller string) (dirs []string) {
	list, err := root.Open("proc/self/cgroup")
	if err != nil {
		return nil
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// hierarchy-ID:controller-list:cgroup-path, where version 2 is "0::path".
		id, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		var mounts []string
		switch {
		case !ok:
		case id == "0" && controllers == "":
			mounts = []string{"sys/fs/cgroup"}
		case slices.Contains(strings.Split(controllers, ","), controller):
			mounts = []string{"sys/fs/cgroup/" + controllers, "sys/fs/cgroup/" + controller}
		}
		for _, mount := range mounts {
			for g := path.Clean("/" + group); ; g = path.Dir(g) {
				dirs = append(dirs, path.Join(mount, g))
				if g == "/" {
					break
				}
			}
		}
	}
	return dirs
}

// cpuQuota reads the quota of a control group: "$MAX $PERIOD" of version 2, where $MAX may be "max",
// or the two files of version 1, where a quota of -1 means none.
func cpuQuota(root fs.FS, dir string) float64 {
	read := func(file string) string {
		text, _ := fs.ReadFile(root, path.Join(dir, file))
		return strings.TrimSpace(string(text))
	}
	limit, period, _ := strings.Cut(read("cpu.max"), " ")
	return min(divide(limit, period), divide(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")))
}

// divide returns infinity unless both numbers are above 0.
func divide(limit, period string) float64 {
	l, err := strconv.ParseFloat(limit, 64)
	p, wrong := strconv.ParseFloat(period, 64)
	if err != nil || wrong != nil || !(l > 0) || !(p > 0) {
		return math.Inf(1)
	}
	return l / p
}

// Throttling counts how often the control groups of a process have used up their quota. The kernel
// then takes away all processors until the next period begins. A trace does not show that.
type Throttling struct {
	Periods   int64         // with something to run
	Throttled int64         // of these
	For       time.Duration // summed over the processors
}

// Since returns the difference to an earlier reading.
func (t Throttling) Since(before Throttling) Throttling {
	return Throttling{max(0, t.Periods-before.Periods), max(0, t.Throttled-before.Throttled), max(0, t.For-before.For)}
}

// Throttled returns the throttling of the most throttled control group so far, or zero without a
// quota. It reads a small file for each control group; the first call finds these.
func Throttled() Throttling {
	if runtime.GOOS != "linux" {
		return Throttling{}
	}
	return throttled(os.DirFS("/"), counted())
}

// counted lists the control groups of this process that count throttling.
var counted = sync.OnceValue(func() []string {
	root := os.DirFS("/")
	return slices.DeleteFunc(Groups(root, "cpu"), func(dir string) bool {
		text, _ := fs.ReadFile(root, path.Join(dir, "cpu.stat"))
		return !strings.Contains(string(text), "nr_throttled")
	})
})

func throttled(root fs.FS, dirs []string) (most Throttling) {
	for _, dir := range dirs {
		text, err := fs.ReadFile(root, path.Join(dir, "cpu.stat"))
		if err != nil {
			continue
		}
		for2, for1 := count(text, "throttled_usec"), count(text, "throttled_time")
		t := Throttling{count(text, "nr_periods"), count(text, "nr_throttled"), time.Duration(for2)*time.Microsecond + time.Duration(for1)}
		if t.Throttled > most.Throttled {
			most = t
		}
	}
	return most
}

// count returns the number after a name in the lines of cpu.stat, or 0.
func count(text []byte, name string) int64 {
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// GroupTime returns the processor time that all processes of the control group of this process have
// used so far, or 0 if the system does not count it.
func GroupTime() time.Duration { return groupTime(os.DirFS("/"), ownGroup()) }

var ownGroup = sync.OnceValue(func() string { return nearest(os.DirFS("/")) })

// nearest returns the nearest control group that counts processor time, or "". That of the process
// may not be mounted, or have another path in the container.
func nearest(root fs.FS) string {
	for _, dir := range Groups(root, "cpuacct") {
		if groupTime(root, dir) > 0 {
			return dir
		}
	}
	return ""
}

func groupTime(root fs.FS, dir string) time.Duration {
	usage, _ := fs.ReadFile(root, path.Join(dir, "cpuacct.usage")) // of version 1
	stat, _ := fs.ReadFile(root, path.Join(dir, "cpu.stat"))       // of version 2
	ns, _ := strconv.ParseInt(strings.TrimSpace(string(usage)), 10, 64)
	return time.Duration(ns) + time.Duration(count(stat, "usage_usec"))*time.Microsecond
}
