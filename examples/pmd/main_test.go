package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"
)

// The neck is there as it is and gone with the repairs, in one run. The large file is so large
// that no other program on the machine can hide it.
func TestRepairs(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	dir := filepath.Join(t.TempDir(), "pictures")
	o := options{workers: 2, small: 10, factor: 400, time: 700 * time.Millisecond, dir: dir}
	var out bytes.Buffer
	if err := o.run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`── pmd, as it is ──\n\nBottle graph by region: `,
		`wall time +processor time +parallelism +neck's height +neck's width`,
		`\nbefore +\S.*\(worker [12]\) +1\.`,
		`\nlargest-first +\S`,
		`\nsplit +\S`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, name := range []string{"before.svg", "largest-first.svg", "split.svg"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.HasPrefix(b, []byte("<svg")) && !bytes.HasPrefix(b, []byte("<?xml")) {
			t.Errorf("%s: %v, %.20q", name, err, b)
		}
	}
}

// What is compared and which graphs are printed follows from the flags.
func TestVariants(t *testing.T) {
	for _, tt := range []struct {
		largestFirst, split bool
		want                string
	}{
		{false, false, "BEFORE, largest-first, split"},
		{true, false, "before, LARGEST-FIRST"},
		{false, true, "before, SPLIT"},
		{true, true, "before, LARGEST-FIRST, SPLIT"},
	} {
		var names []string
		for _, v := range (options{largestFirst: tt.largestFirst, split: tt.split}).variants() {
			if v.show {
				v.name = strings.ToUpper(v.name)
			}
			names = append(names, v.name)
		}
		if got := strings.Join(names, ", "); got != tt.want {
			t.Errorf("%v %v: %s, want %s (capitals: shown)", tt.largestFirst, tt.split, got, tt.want)
		}
	}
}

// A split queue has a neck of less than half the height, whatever else the machine does meanwhile.
func TestNeckShrinks(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	o := options{workers: 2, small: 10, factor: 400, time: 700 * time.Millisecond, split: true}
	variants := o.variants()
	config := o.config()
	height := func(v *variant) float64 {
		if err := v.record(context.Background(), config); err != nil {
			t.Fatal(err)
		}
		if b := v.neck(); b != nil {
			return float64(b.Share) / float64(v.graph.Wall)
		}
		return 0
	}
	before, after := height(variants[0]), height(variants[1])
	if before < 0.5 || after > before/2 {
		t.Errorf("the neck takes %.0f%% of the time before the repair, %.0f%% after it", 100*before, 100*after)
	}
	if large := variants[0].result.Large(); large == nil || variants[0].neck() == nil || large.Name != variants[0].neck().Group {
		t.Errorf("the neck is %+v, the large file was processed by %+v", variants[0].neck(), large)
	}
}
