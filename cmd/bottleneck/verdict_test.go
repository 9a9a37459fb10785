package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/diagnose"
)

var lockTrace = filepath.Join("..", "..", "testdata", "real", "stdlog-file.trace.zst")

// A file alone is the verdict on it, in the forms that there are.
func TestFileAloneIsTheVerdict(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{lockTrace}, "1. The lock log.Logger kept"},
		{[]string{lockTrace, "-v"}, "Behind finding 1:"},
		{[]string{"verdict", "-format", "md", lockTrace}, "1. **The lock log.Logger kept"},
	} {
		r := bottleneck(tt.args...)
		code, out, errs := r.status, r.out, r.err
		if code != 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%q: exit status %d, %s\n%s", tt.args, code, errs, out)
		}
	}
	r := bottleneck("verdict", "-format", "json", lockTrace)
	code, out, errs := r.status, r.out, r.err
	var v diagnose.Verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v, %s", code, err, errs)
	}
	if len(v.Findings) == 0 || v.Findings[0].Kind != diagnose.Lock || v.Findings[0].Lost == 0 {
		t.Errorf("got %+v", v.Findings)
	}
}

// Conditions compare the lost capacity, of all, of a kind, and of a function.
func TestVerdictFail(t *testing.T) {
	for _, tt := range []struct {
		condition string
		code      int
	}{
		{"lost>30%", 1}, {"lost>99%", 0}, {"lost(lock)>10%", 1}, {"lost(lock)>60%", 0}, {"lost(main.worker)>5%", 1},
		{"lost(collector)>50%", 0}, {"wall<1h", 1}, {"lost(", 2}, {"lost(lock).x>1", 2}, {"found>1", 2},
	} {
		r := bottleneck("verdict", "-fail", tt.condition, lockTrace)
		code, errs := r.status, r.err
		if code != tt.code {
			t.Errorf("%s: exit status %d, want %d: %s", tt.condition, code, tt.code, errs)
		}
		if code == 1 && !strings.Contains(errs, "-fail: "+strings.FieldsFunc(tt.condition, func(r rune) bool { return r == '>' || r == '<' })[0]) {
			t.Errorf("%s: %s", tt.condition, errs)
		}
	}
}
