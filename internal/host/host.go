// Package host tells how many processors the operating system lets this process use.
package host

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// Processors returns how many processors this process may use: those that it may run on
// (runtime.NumCPU), or the quota of its control group if that is lower. A quota may be a fraction.
// The answer is that of the first call.
var Processors = sync.OnceValue(func() float64 {
	n := float64(runtime.NumCPU())
	if runtime.GOOS == "linux" {
		n = min(n, quota(os.DirFS("/")))
	}
	return n
})

// quota returns the lowest processor quota of the control groups that the process is in, of either
// version; infinity if there is none.
func quota(root fs.FS) float64 {
	least := math.Inf(1)
	groups, err := root.Open("proc/self/cgroup")
	if err != nil {
		return least
	}
	defer groups.Close()
	for lines := bufio.NewScanner(groups); lines.Scan(); {
		// hierarchy-ID:controller-list:cgroup-path, where version 2 is "0::path".
		id, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case id == "0" && controllers == "":
			least = min(least, upwards(group, func(dir string) float64 { return cpuMax(root, dir) }, "sys/fs/cgroup"))
		default:
			for c := range strings.SplitSeq(controllers, ",") {
				if c == "cpu" {
					least = min(least, upwards(group, func(dir string) float64 { return cfsQuota(root, dir) }, "sys/fs/cgroup/"+controllers, "sys/fs/cgroup/cpu"))
				}
			}
		}
	}
	return least
}

// upwards returns the least that of returns for a group and the groups around it. In a container
// the path may be that of the host while the mount shows the container's group at its root, which
// is asked in any case.
func upwards(group string, of func(dir string) float64, mounts ...string) float64 {
	least := math.Inf(1)
	for _, mount := range mounts {
		for g := path.Clean("/" + group); ; g = path.Dir(g) {
			least = min(least, of(path.Join(mount, g)))
			if g == "/" {
				break
			}
		}
	}
	return least
}

// cpuMax reads "$MAX $PERIOD" of version 2, where $MAX may be "max".
func cpuMax(root fs.FS, dir string) float64 {
	text, err := fs.ReadFile(root, path.Join(dir, "cpu.max"))
	if err != nil {
		return math.Inf(1)
	}
	limit, period, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return divide(limit, period)
}

// cfsQuota reads the two files of version 1, where a quota of -1 is none.
func cfsQuota(root fs.FS, dir string) float64 {
	limit, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return math.Inf(1)
	}
	period, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return math.Inf(1)
	}
	return divide(strings.TrimSpace(string(limit)), strings.TrimSpace(string(period)))
}

func divide(limit, period string) float64 {
	l, err := strconv.ParseFloat(limit, 64)
	p, wrong := strconv.ParseFloat(period, 64)
	if err != nil || wrong != nil || !(l > 0) || !(p > 0) {
		return math.Inf(1)
	}
	return l / p
}
