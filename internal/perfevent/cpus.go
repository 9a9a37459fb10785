package perfevent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// cpuList is where the kernel lists the online processors; tests replace it.
var cpuList = "/sys/devices/system/cpu/online"

func onlineList() ([]int, error) {
	b, err := os.ReadFile(cpuList)
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(b)))
}

// parseCPUs reads a list such as "0-3,8".
func parseCPUs(list string) (cpus []int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("perfevent: list of processors %q", list)
		}
		for ; a <= b; a++ {
			cpus = append(cpus, int(a))
		}
	}
	return cpus, nil
}
