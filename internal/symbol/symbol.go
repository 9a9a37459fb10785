// Package symbol parses the names of functions as written by the compiler and linker, such as
// "github.com/nats-io/nats%2ego.(*Conn).readLoop-fm".
package symbol

import (
	"strings"
	"sync"
)

// Unescape undoes the linker's escapes in import paths, such as the dot in
// "gopkg.in/yaml%2ev3.Unmarshal", so the name is as in the source. A name without escapes costs one
// scan.
func Unescape(name string) string {
	i := strings.IndexByte(name, '%')
	if i < 0 {
		return name
	}
	b := []byte(name[:i])
	for ; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if hi, lo := digit(name[i+1]), digit(name[i+2]); hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, name[i])
	}
	return string(b)
}

func digit(c byte) int { return strings.IndexByte("0123456789abcdef", c) }

// Package returns the import path in the unescaped name of a function, or "" if there is none. The
// last element of a path may have dots, as in "gopkg.in/yaml.v3" and "github.com/nats-io/nats.go".
// Version suffixes and "go", which is never a function name, belong to the path.
func Package(function string) string {
	name, _, _ := strings.Cut(function, "[") // type parameters and receivers may have paths
	name, _, _ = strings.Cut(name, "(")
	end := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[end:], '.')
	if dot < 0 {
		return ""
	}
	for end += dot; ; {
		element, _, more := strings.Cut(name[end+1:], ".")
		if !more || element != "go" && !IsVersion(element) {
			return function[:end]
		}
		end += 1 + len(element)
	}
}

// Receiver returns the type whose method a function is: "example.com/m/pkg.Cache" for
// "example.com/m/pkg.(*Cache).Get.func1". For other functions it is the outermost function.
func Receiver(function string) string {
	pkg := Package(function)
	if pkg == "" {
		return function
	}
	rest, _, _ := strings.Cut(function[len(pkg)+1:], "[") // type parameters
	if typ, ok := strings.CutPrefix(rest, "(*"); ok {
		rest, _, _ = strings.Cut(typ, ")")
	}
	rest, _, _ = strings.Cut(rest, ".")
	return pkg + "." + rest
}

// IsVersion reports whether an element of an import path is a major version such as v2.
func IsVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && strings.Trim(s[1:], "0123456789") == ""
}

// standard holds the first elements of the import paths of the standard library. A path without a
// dot is not sufficient: modules may have such paths too, and "cmd" contains programs.
var standard = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`archive arena bufio builtin bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect
		regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe uuid vendor weak`) {
		m[s] = true
	}
	return m
})

// IsStandard reports whether an import path belongs to the standard library, including its internal
// and vendored packages. The path of a plugin begins with "plugin/".
func IsStandard(path string) bool {
	first, rest, _ := strings.Cut(path, "/")
	return standard()[first] && (first != "plugin" || rest == "")
}

// IsProgram reports whether a function is outside the standard library, or in the tests of one of
// its packages: these are the traced program. An inlined function literal of the library has the
// name of the program's function, as in "main.load.OnceFunc.func1", and the file of the library. A
// module in a directory named src may have packages such as internal/cache, too.
func IsProgram(function, file string) bool {
	pkg := Package(function)
	if IsStandard(pkg) {
		return strings.HasSuffix(file, "_test.go")
	}
	if pkg == "" && strings.HasSuffix(file, ".s") {
		return false // local to a file of assembly, such as memeqbody of internal/bytealg
	}
	if !IsInlined(function) {
		return true
	}
	_, dir, found := strings.Cut(file, "/src/")
	if !found {
		dir = file // as with -trimpath
	}
	at := strings.LastIndexByte(dir, '/')
	return at < 0 || !IsStandard(dir) || strings.HasPrefix(dir, "internal/") || strings.HasSuffix("/"+pkg, "/"+dir[:at])
}

// IsInlined reports whether the name of a function is that of a function literal of one function in
// another one, into which the first is inlined, such as "main.run.Recover.func1". A literal in a
// method with a value receiver has such a name, too.
func IsInlined(function string) bool {
	enclosing := Enclosing(function)
	if enclosing == function {
		return false
	}
	name := strings.ReplaceAll(enclosing[len(Package(function)):], "[...]", "")
	if method, ok := strings.CutPrefix(name, ".("); ok {
		_, name, _ = strings.Cut(method, ")")
	}
	name, _, _ = strings.Cut(name, "[")
	return strings.Count(name, ".") > 1
}

// IsWrapper reports whether the compiler generated the function: for the arguments of a go or defer
// statement (f.gowrap1, f.deferwrap2), for a method value (T.f-fm), or to call a method through
// another receiver (in the file "<autogenerated>"). Package instrument's functions that mark the
// tasks of a pool count, too.
func IsWrapper(function, file string) bool {
	return file == "<autogenerated>" || strings.HasSuffix(function, "-fm") || IsGoWrapper(function) || numbered(function, ".deferwrap") || marksTasks(function)
}

// marksTasks reports whether package instrument added the function to a package of a pool.
func marksTasks(function string) bool {
	_, name, found := strings.Cut(function, ".bottleneck")
	return found && (strings.HasPrefix(name, "Func0") || strings.HasPrefix(name, "Func1") || strings.HasPrefix(name, "Task[") || strings.HasPrefix(name, "Each["))
}

// IsGoWrapper reports whether the compiler generated the function for a go statement with
// arguments.
func IsGoWrapper(function string) bool { return numbered(function, ".gowrap") }

// numbered reports whether the name ends in the mark and digits.
func numbered(function, mark string) bool {
	i := strings.LastIndex(function, mark)
	if i < 0 {
		return false
	}
	number := function[i+len(mark):]
	return number != "" && strings.Trim(number, "0123456789") == ""
}

// Enclosing returns the declared function around a function literal, the body of a range over a
// function, or a compiler's wrapper: "main.(*T).run" for "main.(*T).run.func1.2.gowrap3".
func Enclosing(function string) string {
	function = strings.TrimSuffix(function, "-fm")
	for {
		for numbered(function, "-range") {
			function = function[:strings.LastIndexByte(function, '-')]
		}
		i := strings.LastIndexByte(function, '.')
		if i < 0 || !isLiteral(function[i+1:]) {
			return function
		}
		function = function[:i]
	}
}

// isLiteral reports whether the element of a name is one that the compiler generates for a part of
// a function: func1, 2, gowrap3, deferwrap1.
func isLiteral(s string) bool {
	for _, p := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			s = rest
			break
		}
	}
	return s != "" && strings.Trim(s, "0123456789") == ""
}
