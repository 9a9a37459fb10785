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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// The comment of every importable package contains a complete program that compiles. Programs
// in Markdown files compile, too.
func TestProgramsInDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	overlay := map[string]string{} // files that are not there, and what is in them
	var dirs []string
	origin := map[string]string{}
	add := func(code, from string) {
		if want, err := format.Source([]byte(code)); err != nil || string(want) != code {
			t.Errorf("the program in %s is not formatted: %v", from, err)
		}
		if fn := neverRun(t, code); fn != "" {
			t.Errorf("the program in %s: what %s defers never runs, as log.Fatal or os.Exit ends the program", from, fn)
		}
		dir := fmt.Sprintf("zz_doc_%d", len(dirs))
		file := filepath.Join(scratch, dir+".go")
		if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(top, dir, "program.go")] = file
		dirs = append(dirs, "./"+dir)
		origin[dir] = from
	}
	for _, file := range markdown(t) {
		snippets := goSnippets(t, file)
		for _, code := range snippets {
			if strings.HasPrefix(code, "package ") {
				add(code, file)
			} else if missing := notInFile(code); missing != "" {
				t.Errorf("%s: a snippet is neither a whole program, nor are its lines in the file that its first line names (// in FILE): %s", file, missing)
			}
		}
		if text, _ := os.ReadFile(file); len(snippets) > 0 && file != filepath.Join("examples", "service", "README.md") && !strings.Contains(string(text), "go get github.com/bottleneck-go/bottleneck`") {
			t.Errorf("%s has programs, but no go get command", file)
		}
	}
	if len(dirs) < 5 {
		t.Errorf("%d programs in Markdown", len(dirs))
	}
	for _, p := range importable(t) {
		programs := 0
		for _, code := range packageCode(t, p.Dir, p.GoFiles) {
			if !strings.HasPrefix(code, "package ") {
				continue
			}
			programs++
			add(code, "the comment of "+p.ImportPath)
		}
		if programs == 0 {
			t.Errorf("the comment of %s shows no whole program", p.ImportPath)
		}
	}
	if race.Enabled {
		return // the compiler accepts the same programs without the race detector
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, data, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", append([]string{"list", "-export", "-overlay", list}, dirs...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\n%v", err, out, origin)
	}
}

// neverRun returns the name of a function that defers a call and then ends the program on the
// normal path; "" if there is none.
func neverRun(t *testing.T, code string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", code, 0)
	if err != nil {
		t.Error(err)
		return ""
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		deferred := false
		for _, s := range fn.Body.List {
			if _, ok := s.(*ast.DeferStmt); ok {
				deferred = true
			}
			ends := false
			ast.Inspect(s, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					return false
				}
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok {
						ends = ends || x.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal") || x.Name == "os" && sel.Sel.Name == "Exit"
					}
				}
				return true
			})
			if deferred && ends {
				return fn.Name.Name
			}
		}
	}
	return ""
}

func TestNeverRun(t *testing.T) {
	const program = "package main\nfunc main() {\n\tif err := a(); err != nil { log.Fatal(err) }\n\tdefer b()\n\t%s\n}"
	for end, want := range map[string]string{"log.Fatal(c())": "main", "if x { os.Exit(1) }": "main", "log.Print(c())": "", "go func() { log.Fatal(1) }()": ""} {
		if got := neverRun(t, fmt.Sprintf(program, end)); got != want {
			t.Errorf("%s: %q, want %q", end, got, want)
		}
	}
	for snippet, ok := range map[string]bool{"// in doc_test.go\nfunc TestNeverRun(t *testing.T) {\n": true, "// in doc_test.go\nfunc TestOther() {\n": false, "x := 1\n": false, "// in nowhere.go\nx\n": false} {
		if missing := notInFile(snippet); (missing == "") != ok {
			t.Errorf("%q: %q", snippet, missing)
		}
	}
}

// markdown lists the Markdown files of the module.
func markdown(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 8 {
		t.Fatalf("%q, %v", files, err)
	}
	return files
}

// Every relative link in a Markdown file leads to an existing file, and to an existing heading if
// it names one.
func TestLinksInDocumentation(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for _, file := range markdown(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, heading, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			if path == "" {
				target = file
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if heading != "" && !hasHeading(t, target, heading) {
				t.Errorf("%s: %s has no heading #%s", file, target, heading)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links", links)
	}
}

// hasHeading reports whether a Markdown file has a heading with the anchor that GitHub generates
// for it.
func hasHeading(t *testing.T, file, anchor string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if title := strings.TrimLeft(line, "#"); title != line {
			made := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(title))
			if made == anchor {
				return true
			}
		}
	}
	return false
}

// goSnippets returns the Go code blocks of a Markdown file.
func goSnippets(t *testing.T, file string) (snippets []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for {
		_, rest, found := strings.Cut(text, "\n```go\n")
		if !found {
			return snippets
		}
		code, after, _ := strings.Cut(rest, "```\n")
		snippets, text = append(snippets, code), after
	}
}

// notInFile returns the first line of a snippet that is missing in the file that the snippet names;
// "" if none is missing.
func notInFile(code string) string {
	head, body, _ := strings.Cut(code, "\n")
	name, ok := strings.CutPrefix(head, "// in ")
	if !ok {
		return head
	}
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return err.Error()
	}
	text := "\n" + strings.ReplaceAll(string(data), "\r\n", "\n")
	for line := range strings.Lines(body) {
		if !strings.Contains(text, "\n"+line) {
			return line
		}
	}
	return ""
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
		if p.Name != "main" && len(p.GoFiles) > 0 && !strings.Contains(p.ImportPath, "/internal/") && !strings.Contains(p.ImportPath, "/benchmarks/") {
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
