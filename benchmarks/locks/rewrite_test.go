package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestReplaceLocks(t *testing.T) {
	for _, c := range []struct {
		name, src   string
		n           int
		want, never []string
	}{
		{"only locks", "package p\n\nimport (\n\t\"fmt\"\n\t\"sync\"\n)\n\ntype T struct{ mu sync.RWMutex }\n\nvar _ = fmt.Sprint\n", 1,
			[]string{"contention.RWMutex", wrappers}, []string{"\"sync\"", "sync.RWMutex"}},
		{"others, too", "package p\n\nimport \"sync\"\n\nvar mu sync.Mutex\nvar once sync.Once\n", 1,
			[]string{"contention.Mutex", "sync.Once", "\"sync\"", wrappers}, []string{"sync.Mutex"}},
		{"none", "package p\n\nimport \"sync\"\n\nvar once sync.Once\n", 0, []string{"sync.Once"}, []string{wrappers}},
	} {
		out, n, err := replaceInFile("p.go", []byte(c.src))
		if err != nil || n != c.n {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", out, 0); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		for _, w := range c.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: no %s in\n%s", c.name, w, out)
			}
		}
		for _, w := range c.never {
			if strings.Contains(string(out), w) {
				t.Errorf("%s: %s in\n%s", c.name, w, out)
			}
		}
	}
	if _, _, err := replaceInFile("p.go", []byte("package")); err == nil {
		t.Error("no error for invalid Go code")
	}
}
