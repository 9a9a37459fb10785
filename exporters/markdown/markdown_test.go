package markdown_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleWrite() {
	books := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.work", Site: timeline.Place{Func: "example.com/shop/cart.(*Cart).total"}, Time: 1500 * time.Millisecond, Count: 1371},
		{Category: ledger.GCStop, Time: 500 * time.Millisecond, Count: 7},
	}}
	t, err := books.Table().By("category", "function")
	if err != nil {
		panic(err)
	}
	if err := markdown.Write(os.Stdout, t); err != nil {
		panic(err)
	}
	// Output:
	// **What 1 s × 2 processors went to**
	//
	// | time | category | function | count | lost |
	// | ---: | --- | --- | ---: | ---: |
	// | 1.5 s | code | cart.(\*Cart).total | 1,371 | 0 s |
	// | 500 ms | gc-stop |  | 7 | 500 ms |
	// | **2 s** | **all** |  | **1,378** | **500 ms** |
}

// A name from the observed program neither ends a cell nor becomes markup.
func TestNamesAreHarmless(t *testing.T) {
	for _, name := range []string{"a|b", "<img src=x>", "**bold**", "[x](http://example.com)", "a\nb", "`code`", `\|`, "@everyone", "&lt;"} {
		columns := []result.Column[string]{{Name: "name", Title: "name", Value: result.Texts(func(s *string) string { return *s })}}
		var b strings.Builder
		if err := markdown.Write(&b, result.New(columns, []string{name}, 0)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if len(lines) != 4 || unescaped(lines[2], '|') != 2 || unescaped(lines[2], '*', '`', '[', '<') != 0 || strings.Contains(b.String(), "@e") || strings.Contains(b.String(), "http:/") {
			t.Errorf("%q became %q", name, b.String())
		}
	}
}

// unescaped counts the characters without a backslash before them.
func unescaped(s string, chars ...rune) (n int) {
	escaped := false
	for _, r := range s {
		for _, c := range chars {
			if r == c && !escaped {
				n++
			}
		}
		escaped = r == '\\' && !escaped
	}
	return n
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	if err := markdown.Write(full{}, &result.Table{}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	var b strings.Builder
	if err := markdown.Write(&b, &result.Table{}); err != nil || b.String() != "No rows.\n" {
		t.Errorf("an empty table: %q, %v", b.String(), err)
	}
}
