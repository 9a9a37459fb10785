package testenv

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Setenv("BOTTLENECK_REQUIRE_ALL", "")
	t.Run("skips", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("not skipped")
			}
		}()
		Program(t, "no such program")
		t.Error("goes on")
	})
	if exe, err := os.Executable(); err == nil && Program(t, exe) != exe {
		t.Error("not found")
	}
	t.Setenv("BOTTLENECK_REQUIRE_ALL", "1")
	f := &failing{TB: t}
	func() {
		defer func() { recover() }()
		Program(f, "no such program")
	}()
	if !f.failed {
		t.Error("does not fail")
	}
}

type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Fatal(...any) { f.failed = true; panic(f) }

// All fuzz targets of the module call BriefFuzzing.
func TestAllTargetsAreBrief(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			n++
			brief := false
			ast.Inspect(fn.Body, func(node ast.Node) bool {
				if sel, ok := node.(*ast.SelectorExpr); ok && sel.Sel.Name == "BriefFuzzing" {
					brief = true
				}
				return true
			})
			if !brief {
				t.Errorf("%s: %s does not call testenv.BriefFuzzing", path, fn.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 20 {
		t.Errorf("%d targets", n)
	}
}
