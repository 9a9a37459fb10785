package timeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	i := &Info{Events: 10, Notes: []string{"A note."}}
	if got := i.Warnings(nil); !slices.Equal(got, i.Notes) {
		t.Errorf("of a sound pass: %q", got)
	}
	i.Inconsistent, i.Reordered = 2, 3
	want := []string{
		"The trace could not be read to its end: offset 7.",
		"A note.",
		"2 of 10 events contradict what was known before them: the trace may be damaged.",
		"3 of 10 events were moved to keep time from running backwards between generations.",
	}
	if got := i.Warnings(errors.New("offset 7")); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got := i.Warnings(fmt.Errorf("a pass: %w", &Error{Name: "/home/me/x.trace", Generation: 3, Err: errors.New("cut off")}))
	if !strings.HasPrefix(got[0], "The trace could not be read to its end: x.trace: offset 0: generation 3: cut off") {
		t.Errorf("%q", got[0])
	}
}
