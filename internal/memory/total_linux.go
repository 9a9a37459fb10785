package memory

import (
	"bufio"
	"os"
	"path"
	"strconv"
	"strings"
)

// total returns the memory available to the process, in bytes: that of the machine, or of its
// cgroup if that is less; 0 if neither is known.
func total() int64 {
	return totalIn("/")
}

// totalIn is total with the file system rooted at root.
func totalIn(root string) int64 {
	least := int64(0)
	for _, n := range append(cgroups(root), machine(root)) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func machine(root string) int64 {
	f, err := os.Open(path.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// cgroups returns the limits of the process's cgroup and of its ancestors. In a container, the path
// of a cgroup may be one of the host that does not exist in the container; the root is then the
// container's cgroup.
func cgroups(root string) (limits []int64) {
	text, err := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if fields[1] != "" { // version 1
			if fields[1] != "memory" {
				continue
			}
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Join("/", fields[2]); ; dir = path.Dir(dir) {
			if b, err := os.ReadFile(path.Join(root, mount, dir, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
					limits = append(limits, n) // "max" is not a number
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}
