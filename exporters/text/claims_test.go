package text

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOutputNeverClaimsThatALockWasFree: a trace cannot show that. While a woken goroutine does
// not run yet, others may lock a Mutex and leave no event. Nor does a ready goroutine show that no
// processor was free: one may have been idle.
func TestOutputNeverClaimsThatALockWasFree(t *testing.T) {
	claim := regexp.MustCompile(`nobody\s+(held|holds|was\b)|ready(,| to run,)( but)? no processor`)
	read := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		switch filepath.Ext(name) {
		case ".md", ".js", ".go", ".html", ".json", ".yml":
		default:
			return nil
		}
		content, err := os.ReadFile(name)
		if found := claim.Find(content); found != nil {
			t.Errorf("%s claims %q", name, found)
		}
		read++
		return err
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, %v", read, err)
	}
}
