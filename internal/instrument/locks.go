package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Declarations returns a function that finds the declarations of locks in source files. A recording
// does not contain them, but the lines that call Lock.
//
// Given a call chain, the function returns the declaration of the lock that the innermost call
// asks for, such as "main.cache.mu (cache.go:12)": a variable, or a field of a type. It returns
// "" unless the declaration is certain: the lock may be behind a pointer or an interface, the
// line may use two locks, and the source may be missing or have changed after the recording
// began.
func Declarations() func(s *contention.Stack, began time.Time) string {
	return new(declarations).of
}

// declarations are the lines and files that were read.
type declarations struct {
	fset  *token.FileSet
	lines map[contention.Frame]string
	files map[string][]*ast.File // by directory and package name
	sync  *types.Package
}

func (l *declarations) of(s *contention.Stack, began time.Time) string {
	if s == nil || len(s.Frames) == 0 || began.IsZero() || !filepath.IsAbs(s.Frames[0].File) {
		return ""
	}
	at := s.Frames[0]
	at.PC = 0
	name, known := l.lines[at]
	if !known {
		if l.lines == nil {
			l.fset, l.lines, l.files = token.NewFileSet(), map[contention.Frame]string{}, map[string][]*ast.File{}
			l.sync, _ = l.check("sync", []*ast.File{l.parse("sync.go", locksOfSync)}, nil, nil)
		}
		var pos token.Position
		if name, pos = l.find(at, nil); name == "" {
			name, pos = l.find(at, l.imports(at.File))
		}
		if name == "" || changed(pos.Filename, began) || changed(at.File, began) {
			name = ""
		} else {
			name = fmt.Sprintf("%s (%s:%d)", name, filepath.Base(pos.Filename), pos.Line)
		}
		l.lines[at] = name
	}
	return name
}

// locksOfSync declares the types of package sync that are or contain one lock.
const locksOfSync = `package sync
type Mutex struct{}
func (*Mutex) Lock()
type RWMutex struct{}
func (*RWMutex) Lock()
func (*RWMutex) RLock()
func (*RWMutex) Unlock()
type Once struct{}
func (*Once) Do(func())
`

// changed reports whether a file has changed since began, or is missing.
func changed(file string, began time.Time) bool {
	st, err := os.Stat(file)
	return err != nil || st.ModTime().After(began)
}

// parse returns a parsed file, or nil. If text is nil, it is read.
func (l *declarations) parse(name string, text any) *ast.File {
	f, _ := parser.ParseFile(l.fset, name, text, parser.SkipObjectResolution)
	return f
}

// parsed returns the files in a directory that belong to the package with the given name. If that is
// "", it is that of the first file.
func (l *declarations) parsed(dir, pkg string) (files []*ast.File) {
	files, known := l.files[dir+" "+pkg]
	if known {
		return files
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if pkg == "" && strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := gobuild.Default.MatchFile(dir, filepath.Base(name)); !ok || err != nil {
			continue
		}
		if f := l.parse(name, nil); f != nil && (pkg == "" || f.Name.Name == pkg) {
			files = append(files, f)
		}
	}
	l.files[dir+" "+pkg] = files
	return files
}

// check type-checks as much of a package as possible, without other packages than imports, and
// without the bodies of functions other than in.
func (l *declarations) check(path string, files []*ast.File, in *ast.FuncDecl, imports map[string]*types.Package) (*types.Package, *types.Info) {
	bodies := map[*ast.FuncDecl]*ast.BlockStmt{}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d != in {
				bodies[d], d.Body = d.Body, nil
			}
		}
	}
	conf := types.Config{FakeImportC: true, DisableUnusedImportCheck: true, Error: func(error) {}, Importer: importer(func(path string) (*types.Package, error) {
		switch p := imports[path]; {
		case path == "sync" && l.sync != nil:
			return l.sync, nil
		case p != nil:
			return p, nil
		}
		return nil, errors.New("not needed")
	})}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	pkg, _ := conf.Check(path, l.fset, files, info) // errors are those of what is missing
	for d, body := range bodies {
		d.Body = body
	}
	return pkg, info
}

type importer func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// imports returns the packages outside the standard library that a file imports.
func (l *declarations) imports(file string) map[string]*types.Package {
	args := []string{"list", "-e", "-find", "-f={{.ImportPath}}\t{{.Dir}}"}
	if f := l.parse(file, nil); f != nil {
		for _, s := range f.Imports {
			if path, err := strconv.Unquote(s.Path.Value); err == nil && !symbol.IsStandard(path) {
				args = append(args, path)
			}
		}
	}
	if len(args) == 4 {
		return nil
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Dir(file)
	out, _ := cmd.Output()
	imports := map[string]*types.Package{}
	for line := range bytes.Lines(out) {
		if path, dir, _ := strings.Cut(strings.TrimSpace(string(line)), "\t"); dir != "" {
			imports[path], _ = l.check(path, l.parsed(dir, ""), nil, nil)
		}
	}
	return imports
}

// find returns the name and the place of the declaration of the lock in a line.
func (l *declarations) find(at contention.Frame, imports map[string]*types.Package) (name string, pos token.Position) {
	f := l.parse(at.File, nil)
	if f == nil {
		return "", pos
	}
	files := l.parsed(filepath.Dir(at.File), f.Name.Name)
	path := symbol.Package(at.Func)
	var in *ast.FuncDecl
	for _, f = range files {
		if l.fset.File(f.Pos()).Name() != at.File {
			continue
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && l.line(d.Pos()) <= at.Line && at.Line <= l.line(d.End()) {
				in = d
			}
		}
		break
	}
	if in == nil || !strings.Contains(at.Func[len(path):]+".", "."+in.Name.Name+".") {
		return "", pos
	}
	_, info := l.check(path, files, in, imports)
	several := false
	ast.Inspect(in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || l.line(call.Pos()) > at.Line || l.line(call.Lparen) < at.Line {
			return true
		}
		of, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || info.Selections[of] == nil || info.Selections[of].Obj().Pkg() != l.sync {
			return true
		}
		one, v := nameOf(info, of, symbol.Enclosing(at.Func))
		several = several || one == "" || name != "" && one != name
		if name = one; v != nil {
			pos = l.fset.Position(v.Pos())
		}
		return true
	})
	if several {
		name = ""
	}
	return name, pos
}

func (l *declarations) line(pos token.Pos) int { return l.fset.Position(pos).Line }

// nameOf returns the name of the variable or field that an expression in a function selects, and
// its object. It returns "" if the value is behind a pointer. Of a method, it is the receiver.
func nameOf(info *types.Info, e ast.Expr, function string) (name string, v *types.Var) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ = info.Uses[e].(*types.Var)
		if v != nil && v.Parent() == v.Pkg().Scope() {
			name = v.Pkg().Path() + "." + v.Name()
		} else if v != nil {
			name = function + "." + v.Name()
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return nameOf(info, e.X, function)
		}
	case *ast.IndexExpr:
		switch info.TypeOf(e.X).Underlying().(type) {
		case *types.Array, *types.Slice:
			if name, v = nameOf(info, e.X, function); name != "" && !isPointer(info.TypeOf(e)) {
				return name + "[]", v
			}
		}
		return "", nil
	case *ast.SelectorExpr:
		sel := info.Selections[e]
		if sel == nil { // of a package
			return nameOf(info, e.Sel, function)
		}
		path := sel.Index()
		if sel.Kind() != types.FieldVal {
			if path = path[:len(path)-1]; len(path) == 0 {
				return nameOf(info, e.X, function)
			}
		}
		owner := sel.Recv()
		for i, n := range path {
			if p, ok := owner.Underlying().(*types.Pointer); ok {
				owner = p.Elem()
			}
			s, ok := owner.Underlying().(*types.Struct)
			if !ok {
				return "", nil
			}
			v = s.Field(n)
			if i < len(path)-1 {
				owner = v.Type()
			}
		}
		if named, ok := types.Unalias(owner).(*types.Named); ok {
			name = named.Obj().Pkg().Path() + "." + named.Obj().Name() + "." + v.Name()
		} else if outer, _ := nameOf(info, e.X, function); outer != "" && len(path) == 1 {
			name = outer + "." + v.Name()
		}
	}
	if v == nil || isPointer(v.Type()) {
		return "", nil
	}
	return name, v
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}
