package bottleneck_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every package that others can import shows a whole program in its comment, and it compiles.
func TestProgramsInPackageComments(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go build")
	}
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	overlay := map[string]string{} // files that are not there, and what is in them
	var dirs []string
	origin := map[string]string{}
	for _, p := range importable(t) {
		programs := 0
		for _, code := range packageCode(t, p.Dir, p.GoFiles) {
			if !strings.HasPrefix(code, "package ") {
				continue
			}
			programs++
			if want, err := format.Source([]byte(code)); err != nil || string(want) != code {
				t.Errorf("the program in the comment of %s is not formatted: %v", p.ImportPath, err)
			}
			dir := fmt.Sprintf("zz_doc_%d", len(dirs))
			file := filepath.Join(scratch, dir+".go")
			if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(top, dir, "program.go")] = file
			dirs = append(dirs, "./"+dir)
			origin[dir] = p.ImportPath
		}
		if programs == 0 {
			t.Errorf("the comment of %s shows no whole program", p.ImportPath)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, data, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", append([]string{"build", "-buildvcs=false", "-overlay", list}, dirs...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\n%v", err, out, origin)
	}
}

type listed struct {
	Dir, ImportPath, Name string
	GoFiles               []string
}

// importable lists the packages of the module that others can import.
func importable(t *testing.T) (list []listed) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Name,GoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Name != "main" && !strings.Contains(p.ImportPath, "/internal/") && !strings.Contains(p.ImportPath, "/benchmarks/") {
			list = append(list, p)
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %d packages: %v", len(list), list)
	}
	return list
}

// packageCode returns the indented blocks of a package's comment.
func packageCode(t *testing.T, dir string, files []string) (blocks []string) {
	t.Helper()
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, codeOf(f.Doc)...)
	}
	return blocks
}

func codeOf(doc *ast.CommentGroup) (blocks []string) {
	var p comment.Parser
	for _, block := range p.Parse(doc.Text()).Content {
		if code, is := block.(*comment.Code); is {
			blocks = append(blocks, code.Text)
		}
	}
	return blocks
}
