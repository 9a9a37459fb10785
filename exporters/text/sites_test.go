package text

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

func readGraph(t *testing.T, file string) *bottle.Graph {
	t.Helper()
	g, err := bottle.ReadFile(context.Background(), "../../testdata/"+file, bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func written(t *testing.T, g *bottle.Graph, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, g, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTableHasTheTopPlaceOfEachKindOfWait: in lines that fit.
func TestTableHasTheTopPlaceOfEachKindOfWait(t *testing.T) {
	g := readGraph(t, "small/sys-go1.26.8.trace.zst")
	for _, width := range []int{48, 80, 100} {
		text := written(t, g, Options{Width: width})
		for _, line := range strings.Split(text, "\n") {
			if columns(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if width == 48 {
			continue
		}
		for _, want := range [][]string{
			{"work.sysWriter", "sleep", "2.2 s", "work.sysWriter work.go:209"},
			{"work.sysReader", "syscall", "2.77 s", "work.sysReader work.go:201"},
			{"main.main", "waitgroup", "3.12 s", "work.Sys work.go:193"},
		} {
			if !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool {
				return strings.Join(strings.Fields(l), " ") == strings.Join(want, " ")
			}) {
				t.Errorf("%d columns: %q is missing in\n%s", width, want, text)
			}
		}
	}
}

// TestEveryOutputShowsTimeInC: no output says that the program was idle or blocked in system
// calls.
func TestEveryOutputShowsTimeInC(t *testing.T) {
	g := readGraph(t, "small/cgo-go1.26.8.trace")
	text := written(t, g, Options{Width: 80})
	for _, want := range []string{"Goroutines were in C code for 4.5 s, which the scheduler does not see.", "in-c", "main.computing main.go:", "A trace cannot tell", "mean parallelism 2.00"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Nothing ran") || strings.Contains(text, "syscall") {
		t.Errorf("idle, or in system calls:\n%s", text)
	}
	var b bytes.Buffer
	if err := TableCSV(&b, g.Table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	inC, site := slices.Index(rows[0], "in_c_ns"), slices.Index(rows[0], "site_in-c")
	i := slices.IndexFunc(rows, func(r []string) bool { return r[3] == "main.computing" })
	if inC < 0 || site < 0 || i < 0 || len(rows[i][inC]) != len("4499000000") || !strings.HasPrefix(rows[i][site], "main.computing main.go:") {
		t.Errorf("CSV: %q", rows)
	}
	plain := readGraph(t, "small/compute-go1.26.8.trace")
	if strings.Contains(written(t, plain, Options{}), "were in C code") {
		t.Error("C code in a program without")
	}
}
