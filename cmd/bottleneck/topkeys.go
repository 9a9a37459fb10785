package main

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// What terminals send for keys that are no letters.
var topSequences = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
	"\x1b[5~": "page up", "\x1b[6~": "page down",
	"\x1b[H": "home", "\x1b[1~": "home", "\x1bOH": "home",
	"\x1b[F": "end", "\x1b[4~": "end", "\x1bOF": "end",
	"\x03": "q", "\x04": "q", // ctrl-C and ctrl-D
	"\x1a": "suspend", "\x0c": "redraw",
	"?": "h", "Q": "q", "k": "up", "j": "down", "b": "page up", "f": "page down", "=": "+", "_": "-",
}

// parseKeys takes apart what a terminal sent. Sequences that it does not know are no keys.
func parseKeys(typed []byte) (keys []string) {
	for s := string(typed); s != ""; {
		n := 1
		if s[0] == '\x1b' {
			n = sequenceLength(s)
		}
		name, known := topSequences[s[:n]]
		switch {
		case known:
			keys = append(keys, name)
		case n == 1 && s[0] >= ' ' && s[0] < 0x7f:
			keys = append(keys, s[:1])
		}
		s = s[n:]
	}
	return keys
}

// sequenceLength is the length of an escape sequence.
func sequenceLength(s string) int {
	switch {
	case len(s) < 2:
		return 1
	case s[1] == 'O':
		return min(3, len(s))
	case s[1] != '[':
		return 2 // a key with Alt
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return len(s)
	}
	return 2 + end + 1
}

// topAction is what the loop has to do for a key.
type topAction int

const (
	topRedraw topAction = iota
	topQuit
	topSuspend
	topAsk
)

// press changes the view as a key wants it, on a screen of so many lines.
func (l *topLoop) press(key string, height int) topAction {
	v := &l.view
	page := max(1, height-9) // without the lines above and below the groups
	switch key {
	case "q":
		return topQuit
	case "suspend":
		return topSuspend
	case " ":
		return topAsk
	case "p":
		v.Paused = !v.Paused
	case "h":
		if v.Help == nil {
			v.Help = topKeysHelp
			return topRedraw
		}
	case "s", "S":
		l.sort(map[string]int{"s": 1, "S": -1}[key])
	case "1", "2", "3", "4", "5", "6", "7":
		v.Sort, v.Skip = text.TopSorts[key[0]-'1'], 0
	case "r":
		v.Reverse = !v.Reverse
	case "g":
		l.regroup = true
		return topAsk
	case "up":
		l.scroll(-1, page)
	case "down":
		l.scroll(1, page)
	case "page up":
		l.scroll(-page, page)
	case "page down":
		l.scroll(page, page)
	case "home":
		v.Skip = 0
	case "end":
		l.scroll(1<<30, page)
	case "+":
		l.interval = max(leastInterval, l.interval/2)
	case "-":
		l.interval = min(mostInterval, l.interval*2)
	}
	v.Help = nil // any key ends the help
	return topRedraw
}

func (l *topLoop) sort(step int) {
	n := len(text.TopSorts)
	for i, s := range text.TopSorts {
		if s == l.view.Sort {
			l.view.Sort = text.TopSorts[(i+step+n)%n]
			break
		}
	}
	l.view.Skip = 0
}

// scroll moves, but not beyond the last page.
func (l *topLoop) scroll(by, page int) {
	most := 0
	if l.view.Graph != nil {
		most = max(0, len(l.view.Graph.Boxes)-page)
	}
	l.view.Skip = max(0, min(l.view.Skip+by, most))
}

// topKeysHelp is what h shows.
var topKeysHelp = []string{
	"q, ctrl-C       quit                        p       pause, go on",
	"up, down, k, j  scroll by a line            blank   refresh at once",
	"page up, down   scroll by a page            + -     refresh more, less often",
	"home, end       to the first, the last      r       reverse the order",
	"s, S            next, previous order        g       next grouping, of pprof only",
	"h, ?            this help                   ctrl-Z  suspend",
	"1 to 7          order by lost, share, parallelism, running, runnable, blocked, name",
	"",
	"lost        part of the capacity (GOMAXPROCS × time) not used while the group ran",
	"share       part of the time: while n goroutines run, each is given 1/n of it",
	"trend       change of the share since the refresh before, in percent of the time",
	"parallel    how many goroutines ran, of all groups, while the group ran",
	"running, runnable, blocked",
	"            how many of the group's goroutines did so, on average;",
	"            runnable ones wait for a processor",
	"blocked on  the largest reason, and its part of the time blocked",
	"*           the neck: low parallelism, which more processors do not help",
}
