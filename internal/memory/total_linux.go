package memory

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/host"
)

// total returns the memory available to the process, in bytes: that of the machine, or of its
// control group if that is less; 0 if neither is known.
func total() int64 { return totalIn(os.DirFS("/")) }

func totalIn(root fs.FS) int64 {
	least := machine(root)
	for _, dir := range host.Groups(root, "memory") {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} { // of version 2 and 1
			text, _ := fs.ReadFile(root, path.Join(dir, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && n > 0 && (least == 0 || n < least) { // "max" is not a number
				least = n
			}
		}
	}
	return least
}

func machine(root fs.FS) int64 {
	f, err := root.Open("proc/meminfo")
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
