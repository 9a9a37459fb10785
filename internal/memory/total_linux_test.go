package memory

import (
	"testing"
	"testing/fstest"
)

// TestTotal: the minimum of the machine's memory and the limits of the process's cgroups.
func TestTotal(t *testing.T) {
	const info = "proc/meminfo"
	for _, tt := range []struct {
		what  string
		files map[string]string
		want  int64
	}{
		{"nothing is known", nil, 0},
		{"a machine", map[string]string{info: "MemTotal:        8000000 kB\nMemFree: 1 kB\n"}, 8000000 << 10},
		{"a cgroup", map[string]string{info: "MemTotal: 8000000 kB\n", "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000000\n"}, 1000000},
		{"one without a limit, in one with a limit", map[string]string{info: "MemTotal: 8000000 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "5000000\n"}, 5000000},
		{"a container, with the path of the host", map[string]string{info: "MemTotal: 8000000 kB\n", "proc/self/cgroup": "0::/docker/x\n", "sys/fs/cgroup/memory.max": "4000000\n"}, 4000000},
		{"version 1", map[string]string{info: "MemTotal: 8000000 kB\n", "proc/self/cgroup": "12:cpu:/a\n4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n"}, 3000000},
		{"version 1 without a limit", map[string]string{info: "MemTotal: 8000000 kB\n", "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8000000 << 10},
	} {
		root := fstest.MapFS{}
		for name, text := range tt.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := totalIn(root); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, got, tt.want)
		}
	}
}
