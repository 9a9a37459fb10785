package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const wrappers = "github.com/bottleneck-go/bottleneck/contention"

// replaceLocks replaces sync.Mutex and sync.RWMutex by the wrappers in the Go files of a folder,
// except tests, and returns the number of replacements.
func replaceLocks(dir string) (int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, err
	}
	var all int
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return all, err
		}
		out, n, err := replaceInFile(name, src)
		if err != nil {
			return all, err
		}
		if n > 0 {
			if err := os.WriteFile(name, out, 0o644); err != nil {
				return all, err
			}
		}
		all += n
	}
	return all, nil
}

func replaceInFile(name string, src []byte) ([]byte, int, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, 0, err
	}
	var replaced, others int
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "sync" && pkg.Obj == nil {
			if sel.Sel.Name == "Mutex" || sel.Sel.Name == "RWMutex" {
				pkg.Name = "contention"
				replaced++
			} else {
				others++
			}
		}
		return true
	})
	if replaced == 0 {
		return src, 0, nil
	}
	for _, i := range f.Imports {
		if i.Path.Value != `"sync"` {
			continue
		}
		if others == 0 {
			i.Path.Value = strconv.Quote(wrappers)
			i.EndPos = 0
			break
		}
		// The file needs both imports, and two imports of one name may follow one another.
		f.Decls = append([]ast.Decl{&ast.GenDecl{
			Tok:   token.IMPORT,
			Specs: []ast.Spec{&ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(wrappers)}}},
		}}, f.Decls...)
		break
	}
	var b bytes.Buffer
	if err := format.Node(&b, fset, f); err != nil {
		return nil, 0, err
	}
	return b.Bytes(), replaced, nil
}
