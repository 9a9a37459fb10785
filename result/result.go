// Package result is the contract of what the analyses find: a table of rows with columns.
//
// A result lists its columns once. What prints, writes, compares or checks it goes over them: text
// and CSV in exporters/text, HTML in exporters/report, JSON ([Table.MarshalJSON]), conditions
// ([Find]) and what changed between two runs ([Diff]) here. One more column is one more line:
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
//		{Name: "time", Title: "time", Unit: result.Duration, Part: true, Help: "its part of the wall time",
//			Value: func(p *phase) (result.Value, bool) { return result.Int(p.time), true }},
//		{Name: "phase", Title: "phase", Help: "its name",
//			Value: func(p *phase) (result.Value, bool) { return result.Str(p.name), p.name != "" }},
//	}
//
//	func main() {
//		t := result.New(columns, []phase{{"load", 6 * time.Second}, {"index", 4 * time.Second}}, 10*time.Second)
//		if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// A value that is not known is not 0: it is empty in text and CSV, null in JSON, and an error in a
// condition.
//
// [New] calls each column's function once a row; a table of 16,384 rows and 12 columns takes some
// 14 MB.
package result

// Column is a column of the table of a result whose rows are of type Row.
type Column[Row any] struct {
	// Name is that in JSON, CSV and conditions: "share". It holds no parentheses, commas, "<"
	// or ">".
	Name string
	// Title is the heading of a table.
	Title string
	Unit  Unit
	// Help is a phrase that says what the values are.
	Help string
	// Part says that the values are parts of the whole of the table, such as the capacity: they
	// have percentages.
	Part bool
	// Value returns the value of a row, and whether it is known.
	Value func(*Row) (v Value, known bool)
}

// Value is the value of a column in a row. The unit of the column says which field it is.
type Value struct {
	Int   int64
	Float float64
	Text  string
	// More are further texts, where a row has several. A filter finds each of them.
	More []string
}

// Int returns the value of a Duration, a Count, Bytes or Cycles.
func Int[N ~int | ~int64](n N) Value { return Value{Int: int64(n)} }

// Float returns the value of a Ratio or a Number.
func Float(f float64) Value { return Value{Float: f} }

// Str returns the value of a Text or a Func.
func Str(s string) Value { return Value{Text: s} }
