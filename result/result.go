// Package result defines the form of all analysis results: a table of rows with columns.
//
// A result lists its columns once. Everything that prints, writes, compares or checks results
// iterates over them: text and CSV in exporters/text, HTML in internal/report, conditions in
// internal/condition, and in this package JSON ([Table.MarshalJSON]) and differences between runs
// ([Diff]). Another column is one more line:
//
//	package main
//
//	import (
//		"encoding/json"
//		"log"
//		"os"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/result"
//	)
//
//	type phase struct {
//		name string
//		time time.Duration
//	}
//
//	var columns = []result.Column[phase]{
//		{Name: "time", Title: "time", Unit: result.Duration, Part: true,
//			Help:  "its part of the wall time",
//			Value: result.Ints(func(p *phase) time.Duration { return p.time })},
//		{Name: "phase", Title: "phase", Help: "its name",
//			Value: result.Texts(func(p *phase) string { return p.name })},
//	}
//
//	func main() {
//		phases := []phase{{"load", 6 * time.Second}, {"index", 4 * time.Second}}
//		t := result.New(columns, phases, 10*time.Second)
//		if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// An unknown value is not 0: it is empty in text and CSV, null in JSON, and an error in a
// condition. A table of 16,384 rows and 12 columns takes about 14 MB.
package result

import "math"

// Column is a column of a table with rows of type Row.
type Column[Row any] struct {
	// Name is the name in JSON, CSV and conditions, such as "share". It must not contain
	// parentheses, commas, "<" or ">".
	Name string
	// Title is the heading in a table.
	Title string
	Unit  Unit
	// Help is a phrase that describes the values.
	Help string
	// Part is set if the values are parts of the table's whole, such as the capacity. They then
	// have percentages.
	Part bool
	// Note is set if the texts describe a row but do not identify it.
	Note bool
	// Quotient names the two columns of numbers of which the value is the quotient, such as
	// "running_ns" and "share_ns". For several rows together it is the quotient of the sums, or
	// unknown if the table lacks one of these columns.
	Quotient [2]string
	// Value returns the value of a row, and whether it is known.
	Value func(*Row) (v Value, known bool)
}

// Single is the [Column.Quotient] of a value that is undefined for several rows together.
var Single = [2]string{"none", "none"}

// Ints returns the [Column.Value] of integers that are always known.
func Ints[Row any, N ~int | ~int64](of func(*Row) N) func(*Row) (Value, bool) {
	return func(r *Row) (Value, bool) { return Int(of(r)), true }
}

// Floats returns the [Column.Value] of floating-point numbers, which are known if finite.
func Floats[Row any](of func(*Row) float64) func(*Row) (Value, bool) {
	return func(r *Row) (Value, bool) {
		f := of(r)
		return Float(f), !math.IsNaN(f) && !math.IsInf(f, 0)
	}
}

// Texts returns the [Column.Value] of texts, which are known if not empty.
func Texts[Row any, S ~string](of func(*Row) S) func(*Row) (Value, bool) {
	return func(r *Row) (Value, bool) { s := string(of(r)); return Str(s), s != "" }
}

// Value is the value of a column in a row. The unit of the column determines the field.
type Value struct {
	Int   int64
	Float float64
	Text  string
	// More are additional texts of the row. A filter matches each of them.
	More []string
	// Known is set for the values in a [Table] that are known.
	Known bool
}

// Int returns the value of a Duration, a Count, Bytes or Cycles.
func Int[N ~int | ~int64](n N) Value { return Value{Int: int64(n)} }

// Float returns the value of a Ratio or a Number.
func Float(f float64) Value { return Value{Float: f} }

// Str returns the value of a Text or a Func.
func Str(s string) Value { return Value{Text: s} }

// Lists returns the [Column.Value] of lists of texts, which are known if not empty.
func Lists[Row any](of func(*Row) []string) func(*Row) (Value, bool) {
	return func(r *Row) (v Value, known bool) {
		if all := of(r); len(all) > 0 {
			return Value{Text: all[0], More: all[1:]}, true
		}
		return v, false
	}
}

// Lift converts columns of a part of a row to columns of the row.
func Lift[Row, Part any](columns []Column[Part], part func(*Row) *Part) []Column[Row] {
	out := make([]Column[Row], len(columns))
	for i := range columns {
		c := &columns[i]
		out[i] = Column[Row]{Name: c.Name, Title: c.Title, Unit: c.Unit, Help: c.Help, Part: c.Part, Note: c.Note, Quotient: c.Quotient,
			Value: func(r *Row) (Value, bool) { return c.Value(part(r)) }}
	}
	return out
}
