package instrument

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/starter"
)

// Tasks of pools
//
// A trace does not show which task a worker of a pool runs. In the packages of known pools
// (starter.Pools), each method that takes a task replaces it by a function that marks the task in
// the trace: as a user task of package runtime/trace where it is submitted, and as a region while
// it runs.
//
// The go command allows no overlay of a file in the module cache. So it runs its tools through the
// program that called [Options.Command] (-toolexec, [Wrapped]), which compiles changed copies of
// the files. A flag for the compiler that only this program sees (-gcflags) makes the go command
// keep such packages apart in its cache, so no other package is compiled again.

const (
	toolArgument = "bottleneck-toolexec"
	poolFlag     = "-bottleneckpool="
)

// submits are the methods and functions whose argument is a task.
var submits = []string{"Go", "Submit", "SubmitErr", "TrySubmit", "TrySubmitErr"}

var wrapped bool // main calls Wrapped

// Wrapped returns at once, unless the go command of [Options.Command] started this process to run a
// tool: then it runs the tool, and exits. A program that wants the tasks of pools calls it at the
// beginning of main.
func Wrapped() {
	wrapped = true
	if len(os.Args) < 3 || os.Args[1] != toolArgument {
		return
	}
	args, err := changeTool(os.Args[2:])
	if err == nil {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "bottleneck:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// poolFlags returns the flags with which the go command changes the pools among the modules that
// the command may build.
func (b *build) poolFlags() (flags []string, err error) {
	files := []string{b.env.GOMOD}
	if b.env.GOWORK != "" && b.env.GOWORK != "off" {
		out, err := b.output(append([]string{"list"}, b.head[2:]...), "-m", "-f={{.GoMod}}")
		if err != nil {
			return nil, err
		}
		files = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	for _, name := range files {
		text, _ := os.ReadFile(name) // without a module there is no pool
		for _, pool := range starter.Pools {
			flag := fmt.Sprintf("-gcflags=%s/...=%s%[1]s,%x", pool, poolFlag, sha256.Sum256([]byte(poolHelpers("p", pool))))
			if strings.Contains(string(text), pool) && !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	if flags == nil {
		return nil, nil
	}
	self, err := os.Executable()
	if strings.ContainsAny(self, " \t") {
		self = "'" + self + "'"
	}
	if err != nil {
		return nil, err
	}
	tool := self + " " + toolArgument
	if sh, err := exec.LookPath("sh"); err == nil && !strings.ContainsAny(sh+b.cache, " \t'\"") {
		script, err := keep(b.cache, "tool_%x.sh", []byte(poolScript))
		if err != nil {
			return nil, err
		}
		tool = sh + " " + script + " " + tool
	}
	return append(flags, "-toolexec="+tool), nil
}

// poolScript runs all other tools without the program, which takes ten times as long to start.
const poolScript = `case "$*" in
*" ` + poolFlag + `"*) ;;
*) shift 2 ;;
esac
exec "$@"
`

// changeTool returns the command line of a tool, with changed files if it compiles a pool.
func changeTool(args []string) ([]string, error) {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, poolFlag) })
	if at < 0 {
		return args, nil
	}
	pool, _, _ := strings.Cut(args[at][len(poolFlag):], ",")
	args = slices.Delete(slices.Clone(args), at, at+1)
	out := slices.Index(args, "-o")
	if path := slices.Index(args, "-p"); out < 0 || path < 0 || args[path+1] == "github.com/sourcegraph/conc" { // each of its tasks is a goroutine
		return args, nil
	}
	dir := filepath.Dir(args[out+1])
	fset := token.NewFileSet()
	var files []*ast.File
	var texts [][]byte
	first := len(args)
	for first > 0 && strings.HasSuffix(args[first-1], ".go") {
		first--
	}
	for _, name := range args[first:] {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return args, nil // the compiler reports it
		}
		files, texts = append(files, f), append(texts, text)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}, Importer: importer(func(string) (*types.Package, error) { return nil, errors.New("not needed") })}
	conf.Check("p", fset, files, info) // errors are those of what is missing
	changed := false
	for i, f := range files {
		text := string(texts[i])
		for _, d := range slices.Backward(f.Decls) {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if wrap := wrapTasks(d, info); wrap != "" {
					body := fset.Position(d.Body.Lbrace).Offset + 1
					text = text[:body] + wrap + text[body:]
				}
			}
		}
		if text == string(texts[i]) {
			continue
		}
		changed = true
		name, err := filepath.Abs(args[first+i])
		if err != nil {
			return nil, err
		}
		args[first+i] = filepath.Join(dir, "bottleneck_"+filepath.Base(name))
		if err := os.WriteFile(args[first+i], []byte("/*line "+name+":1:1*/"+text), 0o666); err != nil {
			return nil, err
		}
	}
	if !changed {
		return args, nil
	}
	for i, a := range args {
		if lang, ok := strings.CutPrefix(a, "-lang="); ok && version.Compare(lang, "go1.21") < 0 {
			args[i] = "-lang=go1.21" // for type parameters; later ones change loops
		}
	}
	name := filepath.Join(dir, "bottleneck.go")
	return append(args, name), os.WriteFile(name, []byte(poolHelpers(files[0].Name.Name, pool)), 0o666)
}

// wrapTasks returns the statements that replace the tasks among the arguments of a function.
func wrapTasks(d *ast.FuncDecl, info *types.Info) (statements string) {
	fn, ok := info.Defs[d.Name].(*types.Func)
	if !ok || !fn.Exported() {
		return ""
	}
	sig := fn.Signature()
	creates := sig.Recv() == nil && strings.HasPrefix(fn.Name(), "New") // a pool with one function
	if !creates && !slices.Contains(submits, fn.Name()) {
		return ""
	}
	for i := range sig.Params().Len() {
		p := sig.Params().At(i)
		variadic := sig.Variadic() && i == sig.Params().Len()-1
		t := p.Type()
		if variadic {
			t = t.(*types.Slice).Elem()
		}
		task, ok := t.Underlying().(*types.Signature)
		if !ok || p.Name() == "" || p.Name() == "_" || task.Variadic() || task.Params().Len() > 1 || task.Results().Len() > 2 || creates && (variadic || task.Params().Len() == 0) {
			continue
		}
		helper := fmt.Sprintf("bottleneckFunc%d%d", task.Params().Len(), task.Results().Len())
		if variadic {
			statements += fmt.Sprintf(" %[1]s = bottleneckEach(%[1]s, %[2]s);", p.Name(), helper)
		} else {
			statements += fmt.Sprintf(" %[1]s = %[2]s(%[1]s, %[3]v);", p.Name(), helper, creates)
		}
	}
	return statements
}

// poolHelpers returns a file for a package of a pool, with a function for each form of a task.
func poolHelpers(pkg, pool string) string {
	text, err := std.ReadFile("std/pool.go.txt")
	if err != nil {
		panic(err) // it is part of this package
	}
	return strings.NewReplacer("PACKAGE", pkg, "POOL", pool).Replace(string(text))
}
