package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the README shows of a trace in testdata is what the command prints.
func TestReadmeShowsOutput(t *testing.T) {
	const command = "go run ./cmd/bottleneck contention -by root-func,owner-func -top 4 testdata/"
	top := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(readme), "\r\n", "\n"), command)
	if !found {
		t.Fatalf("the README has no command %s…", command)
	}
	trace, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "```\n\n```\n")
	shown, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README shows no output of it")
	}
	got := bottleneck("contention", "-by", "root-func,owner-func", "-top", "4", filepath.Join(top, "testdata", filepath.FromSlash(trace))).out
	for line := range strings.Lines(shown) {
		if !strings.Contains(got, line) {
			t.Errorf("the README shows\n%s\n which is not in\n%s", line, got)
		}
	}
}
