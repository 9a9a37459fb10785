// Package instrument builds programs that record themselves, without a change in their source, for
// the commands instrument, run and scale.
//
// The go command gets an overlay of a few files of the standard library. Packages sync and
// internal/sync log in the execution trace who holds a Mutex or RWMutex while others wait for it:
// any of the program, of its dependencies and of the standard library. Package runtime/trace records
// that trace with CPU samples from before main to the end of the program, also if a panic or a
// signal ends it. The packages of known pools of goroutines mark each task in the trace: for them the
// go command runs the compiler through the calling program.
//
// Nothing is written below the program's directory or the module cache. The changed files are kept
// below [os.UserCacheDir] until no command has used them for five days.
//
// Cost: the fast paths of locks are those of the standard library. A wait takes some microseconds
// more, for at most 5 % of the time of a processor; docs/instrument.md has measurements.
package instrument

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	gobuild "go/build"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable is the environment variable with the directory for the recordings. Each process of an
// instrumented program writes NAME.PID.trace into it. Without the variable, a program records
// nothing.
const Variable = "BOTTLENECK_RECORD"

// PercentVariable is the environment variable with the percentage of the time of a processor that
// a program may use to log the owners of locks; without it, 5. For waits beyond that, only the lock
// is logged.
const PercentVariable = "BOTTLENECK_LOG_PERCENT"

// MachineVariable is the environment variable with the text of a host.Machine, which a recording
// then contains.
const MachineVariable = "BOTTLENECK_MACHINE"

// recordings begins the name of a directory of [Recordings]; the number of the process follows.
const recordings = "bottleneck-run-"

// Recordings makes a directory for recordings, which the caller removes. It removes those of callers
// that were killed: their process is gone, and nothing was written for an hour. The program that is
// recorded may live longer, but writes each second.
func Recordings() (dir string, err error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), recordings+"*-*"))
	for _, dir := range old {
		if abandoned(dir, time.Now()) {
			os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", recordings, os.Getpid()))
}

func abandoned(dir string, now time.Time) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), recordings), "-")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return false
	}
	if p, err := os.FindProcess(pid); err == nil { // always, on Unix
		if err := p.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
			return false
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range append(files, dir) {
		if st, err := os.Lstat(name); err != nil || now.Sub(st.ModTime()) < time.Hour {
			return false
		}
	}
	return true
}

// releases are the releases of Go whose standard library this package can change.
var releases = []string{"go1.26", "go1.27"}

// systems are the values of GOOS on which programs can be recorded.
var systems = []string{"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "linux", "netbsd", "openbsd", "solaris", "windows"}

// Options selects what a recording adds to an execution trace. The zero value is ready to use.
type Options struct {
	// What lists the parts, of those in [Parts]; nil means all. The part pools needs a call of
	// [Wrapped].
	What []string
	// Only and Skip are patterns of import paths, as in go list. A wait for a lock is logged, and
	// a task of a pool is measured, if Only is nil or matches the package that waits or submits
	// it, and Skip does not match.
	Only, Skip []string
}

// Parts are the values of Options.What. Only locks and pools add to the trace, in which each
// goroutine is a task with its go statement, also that of an errgroup. Tasks means all but locks.
var Parts = []string{"locks", "tasks", "errgroup", "go", "pools"}

// Command changes a command go build, install, run or test, such as "go", "test", "./...", so that
// it builds an instrumented program. What the go command itself rejects, such as a package that does
// not compile, it reports when it runs.
func (opt Options) Command(ctx context.Context, args ...string) (cmd *exec.Cmd, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("instrument: %w", err)
		}
	}()
	b := &build{ctx: ctx}
	for _, what := range opt.What {
		if !slices.Contains(Parts, what) {
			return nil, fmt.Errorf("unknown part %q: want one of %s", what, strings.Join(Parts, ", "))
		}
	}
	if err := b.parse(args); err != nil {
		return nil, err
	}
	if err := b.ask(); err != nil {
		return nil, err
	}
	settings, err := b.settings(opt)
	if err != nil {
		return nil, err
	}
	overlay, err := b.overlay(settings)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(b.head[1:], []string{"-overlay=" + overlay}, b.flags, b.pools, b.packages, b.rest)
	cmd = exec.Command(b.head[0], all...)
	cmd.Env = append(cmd.Environ(), b.toolchain...)
	return cmd, nil
}

// IsGo reports whether a command is the go command: go or go1.27.4, in any directory.
func IsGo(name string) bool {
	base := strings.TrimSuffix(filepath.Base(name), ".exe")
	return base == "go" || strings.HasPrefix(base, "go1.")
}

// build is a command that builds a program.
type build struct {
	ctx      context.Context
	head     []string // "go build", and -C
	verb     string
	flags    []string // up to the first package
	packages []string // of build, install and run
	rest     []string
	// toolchain has environment variables that select the toolchain.
	toolchain []string
	cache     string   // directory for changed files
	pools     []string // flags that change pools
	conflict  string   // a flag of the command that excludes these
	env       struct{ GOROOT, GOVERSION, GOOS, GOARCH, CGO_ENABLED, GOFLAGS, GOMODCACHE, GOMOD, GOWORK string }
}

// parse splits the arguments.
func (b *build) parse(args []string) error {
	switch {
	case len(args) < 2 || !IsGo(args[0]):
		return errors.New("want go build, install, run or test")
	case !slices.Contains([]string{"build", "install", "run", "test"}, args[1]):
		return fmt.Errorf("go %s builds no program: want go build, install, run or test", args[1])
	}
	b.head, b.verb = slices.Clone(args[:2]), args[1]
	args = args[2:]
	if len(args) > 1 && (args[0] == "-C" || args[0] == "--C") {
		b.head, args = append(b.head, args[:2]...), args[2:]
	} else if len(args) > 0 && (strings.HasPrefix(args[0], "-C=") || strings.HasPrefix(args[0], "--C=")) {
		b.head, args = append(b.head, args[0]), args[1:]
	}
	if b.verb == "test" { // the packages are of no importance: package testing records
		b.flags, b.rest = []string{"-count=1"}, args // a cached result would have no recording
		if i := slices.IndexFunc(args, func(a string) bool { return a == "-args" || a == "--args" }); i >= 0 {
			args = args[:i]
		}
		return b.check(args)
	}
	n := 0
	for n < len(args) && strings.HasPrefix(args[n], "-") && args[n] != "--" {
		if name, _, joined := strings.Cut(strings.TrimLeft(args[n], "-"), "="); !joined && !slices.Contains(boolFlags, name) {
			n++
		}
		n++
	}
	n = min(n, len(args))
	b.flags, args = args[:n], args[n:]
	switch n = 0; {
	case b.verb != "run":
		n = len(args)
	case len(args) > 0 && strings.HasSuffix(args[0], ".go"):
		for n < len(args) && strings.HasSuffix(args[n], ".go") {
			n++
		}
	default:
		n = min(1, len(args))
	}
	b.packages, b.rest = args[:n], args[n:]
	return b.check(b.flags)
}

// check returns an error if a flag excludes an overlay, and notes one that excludes changed pools.
func (b *build) check(flags []string) error {
	for _, a := range flags {
		switch name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "="); {
		case !strings.HasPrefix(a, "-"):
		case name == "overlay":
			return fmt.Errorf("%s: the go command takes only one overlay", a)
		case strings.HasPrefix(name, "cover") && b.verb != "test":
			return fmt.Errorf("%s: the cover tool does not find the file that a recording adds to package main", a)
		case name == "toolexec", name == "gcflags":
			b.conflict = a
		}
	}
	return nil
}

// boolFlags are the flags of go build without a value in the next argument.
var boolFlags = []string{"a", "n", "v", "x", "work", "race", "msan", "asan", "cover", "trimpath", "modcacherw", "json", "linkshared", "buildvcs", "i"}

// ask asks the go command for its settings, which depend on the directory: go.mod may select a
// toolchain.
func (b *build) ask() error {
	out, err := b.output(append([]string{"env"}, b.head[2:]...), "-json", "GOROOT", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOMODCACHE", "GOMOD", "GOWORK")
	if err == nil {
		err = json.Unmarshal(out, &b.env)
	}
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	release, _, known := strings.Cut(strings.TrimPrefix(b.env.GOVERSION, "go1."), ".")
	release = "go1." + release
	switch {
	case !known || !slices.Contains(releases, release):
		return fmt.Errorf("the standard library of %s is unknown: this version changes that of %s", b.env.GOVERSION, strings.Join(releases, " and "))
	case !slices.Contains(systems, b.env.GOOS):
		return fmt.Errorf("programs for GOOS=%s cannot be recorded", b.env.GOOS)
	}
	if err := b.check(strings.Fields(b.env.GOFLAGS)); err != nil {
		return fmt.Errorf("GOFLAGS: %w", err)
	}
	if b.cache, err = os.UserCacheDir(); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(b.env.GOROOT))
	b.cache = filepath.Join(b.cache, "bottleneck", "instrument", fmt.Sprintf("%s-%x", b.env.GOVERSION, sum[:6]))
	return nil
}

// settings returns the settings of package runtime/trace, and sets the flags that change pools.
func (b *build) settings(opt Options) (text string, err error) {
	has := func(what ...string) bool {
		return opt.What == nil || slices.ContainsFunc(what, func(w string) bool { return slices.Contains(opt.What, w) })
	}
	pools := has("pools", "tasks") && wrapped
	if !wrapped && slices.Contains(opt.What, "pools") {
		return "", errors.New("the part pools needs a call of Wrapped at the beginning of main")
	}
	if pools {
		if b.pools, err = b.poolFlags(); err != nil {
			return "", err
		}
	}
	if b.pools != nil && b.conflict != "" {
		if pools, b.pools = false, nil; slices.Contains(opt.What, "pools") {
			return "", fmt.Errorf("%s excludes the part pools, which sets that flag: leave out one of them", b.conflict)
		}
	}
	if opt.Only, err = b.resolve(opt.Only); err == nil {
		opt.Skip, err = b.resolve(opt.Skip)
	}
	return fmt.Sprintf("package trace\n\nconst bottleneckLocks, bottleneckPools = %v, %v\n\nvar bottleneckOnly, bottleneckSkip = %#v, %#v\n", has("locks"), pools, opt.Only, opt.Skip), err
}

// resolve returns patterns of import paths. One that begins with a dot is a directory.
func (b *build) resolve(patterns []string) (paths []string, err error) {
	for _, p := range patterns {
		switch {
		case p == "" || strings.ContainsAny(p, " \t\\:*?@") || filepath.IsAbs(p) || slices.Contains([]string{"all", "std", "cmd", "main"}, p):
			return nil, fmt.Errorf("%q is no pattern of import paths, such as ./... and example.com/x/... are", p)
		case p[0] != '.':
			paths = append(paths, p)
			continue
		}
		dir, below := strings.CutSuffix(p, "/...")
		of, err := b.importPath(dir)
		if err != nil {
			return nil, fmt.Errorf("%q is no pattern of import paths: %w", p, err)
		}
		if below {
			of += "/..."
		}
		paths = append(paths, of)
	}
	return paths, nil
}

// output runs the go command.
func (b *build) output(args []string, more ...string) ([]byte, error) {
	cmd := exec.CommandContext(b.ctx, b.head[0], append(args, more...)...)
	cmd.Env = append(cmd.Environ(), b.toolchain...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, errors.New(line)
	}
	return out, err
}

// importPath returns the import path of a directory of the program's modules.
func (b *build) importPath(dir string) (string, error) {
	if len(b.head) > 2 {
		dir = filepath.Join(strings.TrimPrefix(strings.TrimLeft(b.head[len(b.head)-1], "-"), "C="), dir)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return "", err
	}
	out, err := b.output(append([]string{"list"}, b.head[2:]...), "-m", "-f={{.Dir}}\t{{.Path}}")
	for line := range strings.Lines(string(out)) {
		root, module, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if rel, err := filepath.Rel(root, dir); err == nil && root != "" && filepath.IsLocal(rel) {
			return path.Join(module, filepath.ToSlash(rel)), nil
		}
	}
	return "", cmp.Or(err, errors.New("it is outside the modules"))
}

// overlay returns the name of the argument of -overlay, which replaces files of the standard library
// and adds one to each main package.
func (b *build) overlay(settings string) (string, error) {
	if b.inModuleCache(b.env.GOROOT) {
		if err := b.link(); err != nil {
			return "", err
		}
	}
	replace, err := library(b.env.GOROOT, b.cache)
	if err != nil {
		return "", err
	}
	file, err := keep(b.cache, "settings_%x.go", []byte(settings))
	if err != nil {
		return "", err
	}
	replace[filepath.Join(b.env.GOROOT, "src", "runtime", "trace", "bottleneck_settings.go")] = file
	if b.verb != "test" {
		if err := b.replaceMains(replace); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	trim(filepath.Dir(b.cache), time.Now())
	return keep(b.cache, "overlay_%x.json", text)
}

// replaceMains adds the replacements for main packages.
func (b *build) replaceMains(replace map[string]string) error {
	source, err := keep(b.cache, "main_%x.go", []byte("package main\n\nimport _ \"runtime/trace\" // records the program\n"))
	if err != nil {
		return err
	}
	dirs, err := b.mains()
	if err != nil {
		return err
	}
	for _, pkg := range b.packages { // go list rejects PACKAGE@VERSION
		if strings.Contains(pkg, "@") && !gobuild.IsLocalImport(pkg) && !filepath.IsAbs(pkg) {
			return fmt.Errorf(inCache, pkg)
		}
	}
	for _, dir := range dirs {
		if b.inModuleCache(dir) {
			return fmt.Errorf(inCache, "in "+dir)
		}
		replace[filepath.Join(dir, mainFile)] = source
	}
	if len(dirs) > 0 && len(b.packages) > 0 && strings.HasSuffix(b.packages[0], ".go") {
		b.packages = append(slices.Clone(b.packages), filepath.Join(filepath.Dir(b.packages[0]), mainFile))
	}
	return nil
}

const inCache = "the main package %s is in the module cache, where the go command allows no overlay: build it in a checkout of its module"

// inModuleCache reports whether a directory is in the module cache, where the go command allows no
// overlay.
func (b *build) inModuleCache(dir string) bool {
	rel, err := filepath.Rel(b.env.GOMODCACHE, dir)
	return err == nil && filepath.IsLocal(rel)
}

// link gives the toolchain, which the go command has downloaded into the module cache, another name.
func (b *build) link() error {
	name := filepath.Join(b.cache, "goroot")
	if to, err := os.Readlink(name); err != nil || to != b.env.GOROOT {
		os.Remove(name)
		if err := os.MkdirAll(b.cache, 0o777); err != nil {
			return err
		}
		if err := os.Symlink(b.env.GOROOT, name); err != nil && !errors.Is(err, os.ErrExist) { // by another command
			return fmt.Errorf("the toolchain %s is in the module cache, where the go command allows no overlay, and cannot be linked elsewhere: %w", b.env.GOVERSION, err)
		}
	}
	b.env.GOROOT = name
	b.toolchain = []string{"GOROOT=" + name, "GOTOOLCHAIN=local"}
	b.head[0] = filepath.Join(name, "bin", "go")
	return nil
}

// mains returns the directories of the main packages. If the go command rejects the packages, there
// are none: it reports the reason again when it builds.
func (b *build) mains() (dirs []string, err error) {
	if dirs, known := b.local(); known {
		return dirs, nil
	}
	args := append([]string{"list"}, b.head[2:]...)
	args = append(args, "-e", "-find", `-f={{if and (eq .Name "main") (or .GoFiles .CgoFiles)}}{{.Dir}}{{end}}`)
	for i := 0; i < len(b.flags); i++ {
		switch name, _, joined := strings.Cut(strings.TrimLeft(b.flags[i], "-"), "="); name {
		case "o", "exec":
			if !joined {
				i++
			}
		case "json", "i", "n", "x", "v":
		default:
			args = append(args, b.flags[i])
		}
	}
	out, err := b.output(args, b.packages...)
	if err != nil {
		return nil, b.ctx.Err()
	}
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		if s.Text() != "" {
			dirs = append(dirs, s.Text())
		}
	}
	return dirs, nil
}

// local returns the directories of the main packages if each package is a directory, which can be
// read without the go command: that takes as long as a small program's build.
func (b *build) local() (dirs []string, known bool) {
	if b.env.GOVERSION != runtime.Version() || len(b.head) > 2 || strings.Contains(b.env.GOFLAGS+strings.Join(b.flags, ""), "-tags") {
		return nil, false
	}
	context := gobuild.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = b.env.GOOS, b.env.GOARCH, b.env.CGO_ENABLED == "1"
	packages := b.packages
	if len(packages) == 0 {
		packages = []string{"."}
	}
	for _, pkg := range packages {
		dir, err := filepath.Abs(pkg)
		if err != nil || pkg != "." && !strings.HasPrefix(pkg, "./") || strings.Contains(pkg, "...") || strings.HasSuffix(pkg, ".go") {
			return nil, false
		}
		p, err := context.ImportDir(dir, 0)
		if err != nil {
			return nil, false
		}
		if p.Name == "main" {
			dirs = append(dirs, dir)
		}
	}
	return dirs, true
}
