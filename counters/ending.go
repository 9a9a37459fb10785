package counters

import "slices"

var endingNames = [...]string{"other", "blocked", "syscall", "yielded", "preempted", "exited", "cut", "in-c"}

// String names the ending as the language of filters does: "blocked", "preempted".
func (e Ending) String() string {
	if int(e) < len(endingNames) {
		return endingNames[e]
	}
	return endingNames[OtherEnding]
}

// ParseEnding returns the ending with the name.
func ParseEnding(name string) (Ending, bool) {
	i := slices.Index(endingNames[:], name)
	return Ending(max(i, 0)), i >= 0
}
