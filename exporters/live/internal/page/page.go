// Package page defines what a page of package live can show.
package page

import (
	"io"
	"reflect"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Shown is the data of a page, with a function for each available format.
type Shown struct {
	Draw func() (*picture.Drawing, error)
	Text func(io.Writer) error
	JSON func(io.Writer) error
	// Profile writes the data for pprof.
	Profile func(io.Writer) error
}

// SourceFile returns the file name of a function, derived from its package.
//
// Call stacks name source files as the build machine did, such as
// "/home/ann/src/shop/cart/cart.go", which reveals who built the program, and where. Pages show the
// names of "go build -trimpath", "example.com/shop/cart/cart.go", to the extent that the function's
// name contains them.
func SourceFile(function, file string) string {
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

// Trimmed returns a copy of a result in which the file names of all places and call stacks are those
// of [SourceFile]. The original is not modified, because it may have other users. Equal pointers
// stay equal.
func Trimmed[R any](original *R) *R {
	return trimmer{}.copy(reflect.ValueOf(original)).Interface().(*R)
}

// trimmer has the copies of what pointers point to.
type trimmer map[any]reflect.Value

func (t trimmer) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := v.Interface()
		if _, known := t[p]; !known {
			t[p] = reflect.New(v.Type().Elem())
			t[p].Elem().Set(t.copy(v.Elem()))
		}
		return t[p]
	case reflect.Slice:
		// Call chains of a box are in profiles only, whose names are replaced when they
		// are written.
		if v.IsNil() || v.Type().Elem() == reflect.TypeFor[bottle.Stack]() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(t.copy(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for i := v.MapRange(); i.Next(); { // Seq2 adds 0.06 MB to a program
			out.SetMapIndex(i.Key(), t.copy(i.Value()))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		function := ""
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Name == "File":
				out.Field(i).SetString(SourceFile(function, v.Field(i).String()))
			case f.IsExported():
				if f.Name == "Func" { // before File, in all types
					function = v.Field(i).String()
				}
				out.Field(i).Set(t.copy(v.Field(i)))
			}
		}
		return out
	}
	return v
}
