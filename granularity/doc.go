// Package granularity measures how much work the tasks of a program do, tells
// whether they are too small or too large, and names the lines that create them.
package granularity
