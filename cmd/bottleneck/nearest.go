package main

import "strings"

// nearest returns the name that a mistyped word is most likely meant to be, or
// "" when none is near.
func nearest(word string, names []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, name := range names {
		d := distance(strings.ToLower(word), name)
		if len(word) >= 2 && strings.HasPrefix(name, word) {
			d = 0
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour that turns a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(t)+1)
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
