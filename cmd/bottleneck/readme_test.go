package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the documentation shows of a trace in testdata is what the command prints.
func TestDocumentationShowsOutput(t *testing.T) {
	const command = "go run ./cmd/bottleneck contention -by root-func,owner-func -top 4 testdata/"
	top := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(top, "docs", "contention.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), command)
	if !found {
		t.Fatalf("docs/contention.md has no command %s…", command)
	}
	trace, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "```\n\n```\n")
	shown, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/contention.md shows no output of it")
	}
	got := bottleneck("contention", "-by", "root-func,owner-func", "-top", "4", filepath.Join(top, "testdata", filepath.FromSlash(trace))).out
	for line := range strings.Lines(shown) {
		if !strings.Contains(got, line) {
			t.Errorf("docs/contention.md shows\n%s\n which is not in\n%s", line, got)
		}
	}
}
