package text

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// shortNames shortens the functions in a tree as far as they can be told apart.
func shortNames(t *contention.Tree) map[string]string {
	var names []string
	seen := map[string]string{}
	add := func(name string) {
		if _, ok := seen[name]; !ok {
			seen[name] = ""
			names = append(names, name)
		}
	}
	var walk func(t *contention.Tree)
	walk = func(t *contention.Tree) {
		switch t.Aspect {
		case contention.ByOwnerFunc, contention.ByWaiterFunc, contention.ByRootFunc, contention.ByOwnerGroup, contention.ByWaiterGroup, contention.ByRootGroup, contention.ByClass:
			add(t.Key)
		case contention.ByLock:
			if strings.Contains(t.Key, "#") { // names that people gave stay as they are
				add(t.Key)
			}
		}
		if isStack(t.Aspect) {
			for frame := range strings.SplitSeq(t.Key, frameSeparator) {
				name, _ := cutFrame(frame)
				add(name)
			}
		}
		for _, c := range t.Children {
			walk(c)
		}
	}
	walk(t)
	for i, s := range format.Funcs(names) {
		seen[names[i]] = s
	}
	return seen
}

func isStack(a contention.Aspect) bool {
	return a == contention.ByOwnerStack || a == contention.ByWaiterStack || a == contention.ByRootStack
}

// frameSeparator is what [contention.Stack.String] puts between the frames "func file:line" of a
// call chain.
const frameSeparator = " < "

// shortStack shortens the functions and files of a call chain: where the chains part should fit
// into the line.
func shortStack(key string, short map[string]string) string {
	frames := strings.Split(key, frameSeparator)
	for i, frame := range frames {
		name, place := cutFrame(frame)
		if s, ok := short[name]; ok {
			name = s
		}
		if place != "" {
			name += " " + place[strings.LastIndexAny(place, `/\`)+1:]
		}
		frames[i] = name
	}
	return strings.Join(frames, frameSeparator)
}

// cutFrame cuts a frame into its function and its place, "" if there is none. Blanks in brackets
// belong to type parameters.
func cutFrame(frame string) (function, place string) {
	depth := 0
	for i, r := range frame {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ' ':
			if depth == 0 {
				return frame[:i], frame[i+1:]
			}
		}
	}
	return frame, ""
}
