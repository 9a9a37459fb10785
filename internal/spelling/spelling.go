// Package spelling finds the intended name for a mistyped one.
package spelling

import "strings"

// maxLength bounds the work for very long words.
const maxLength = 256

// Nearest returns the name that a mistyped word most likely means, or "" if no name is near: one
// that begins with the word, or else the one with the fewest changes, at most a third of its
// letters. Case is ignored.
func Nearest(word string, names []string) string {
	if len(word) > maxLength {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", 1+max(1, len(word)/3)
	for _, name := range names {
		d := 0
		if lower := strings.ToLower(name); len(word) < 2 || !strings.HasPrefix(lower, word) {
			d = distance([]rune(word), []rune(lower))
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbor to turn
// a into b (optimal string alignment).
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
