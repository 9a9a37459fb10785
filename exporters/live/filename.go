package live

import (
	"reflect"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The names of source files in call chains are those of the machine that built the program, such as
// "/home/ann/src/shop/cart/cart.go": they tell who built it, and where. Unless Options.FilePaths
// asks for them, they are replaced by what "go build -trimpath" would have put there,
// "example.com/shop/cart/cart.go", as far as the function's name tells it.

// sourceFile is the name of a function's file by its package.
func sourceFile(function, file string) string {
	slash := strings.LastIndexAny(file, `/\`)
	if slash < 0 {
		return file
	}
	base := file[slash+1:]
	if p := symbol.Package(symbol.Unescape(function)); p != "" {
		return p + "/" + base
	}
	return base
}

// trimProfile replaces the names of files of a profile for pprof.
func trimProfile(p *profile.Profile) {
	for _, f := range p.Function {
		f.Filename = sourceFile(f.Name, f.Filename)
	}
	for _, m := range p.Mapping {
		m.File = m.File[strings.LastIndexAny(m.File, `/\`)+1:]
	}
}

// trimmed returns a copy of a graph, or of a profile of contention or tasks, in which the frames of
// all call chains, wherever they are, have other names of files. What has no frames below it is
// shared with the original: that belongs to the source, which may have given it to others, too.
func trimmed[T any](p *T) *T {
	t := trimmer{pointers: map[any]reflect.Value{}, has: map[reflect.Type]bool{}}
	return t.copy(reflect.ValueOf(p)).Interface().(*T)
}

// trimmer copies values. Two pointers to the same value are so in the copy as well.
type trimmer struct {
	pointers map[any]reflect.Value // by pointer
	has      map[reflect.Type]bool // whether there are frames in a type
}

func (t *trimmer) copy(v reflect.Value) reflect.Value {
	if !t.frames(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c, ok := t.pointers[v.Interface()]
		if !ok {
			c = reflect.New(v.Type().Elem())
			t.pointers[v.Interface()] = c
			c.Elem().Set(t.copy(v.Elem()))
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(t.copy(v.Index(i)))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			c.SetMapIndex(k, t.copy(e))
		}
		return c
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			c.Field(i).Set(t.copy(v.Field(i)))
		}
	}
	if isFrame(v.Type()) {
		file := c.FieldByName("File")
		file.SetString(sourceFile(c.FieldByName("Func").String(), file.String()))
	}
	return c
}

// frames reports whether values of a type can have frames below them.
func (t *trimmer) frames(of reflect.Type) bool {
	has, ok := t.has[of]
	if ok {
		return has
	}
	t.has[of] = false // while we look, for types that refer to themselves
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		has = t.frames(of.Elem())
	case reflect.Struct:
		has = isFrame(of)
		for i := range of.NumField() {
			f := of.Field(i)
			has = has || f.IsExported() && t.frames(f.Type)
		}
	}
	t.has[of] = has
	return has
}

func isFrame(of reflect.Type) bool {
	return of == reflect.TypeFor[contention.Frame]() || of == reflect.TypeFor[granularity.Frame]() || of == reflect.TypeFor[bottle.Site]() || of == reflect.TypeFor[timeline.Place]()
}
