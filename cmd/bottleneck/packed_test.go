package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// What was saved is read packed, too: from files, from standard input, and by all commands that
// read it.
func TestPackedJSON(t *testing.T) {
	dir, graph, other := parts(t, "graph", ".json")
	_, waits, _ := parts(t, "contention", ".json")
	pack := func(name, how string) string {
		var buf bytes.Buffer
		var z io.WriteCloser = gzip.NewWriter(&buf)
		if how == ".zst" {
			z, _ = zstd.NewWriter(&buf)
		}
		z.Write(read(t, name))
		z.Close()
		packed := filepath.Join(dir, filepath.Base(filepath.Dir(name))+filepath.Base(name)+how)
		if err := os.WriteFile(packed, buf.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return packed
	}
	for _, how := range []string{".gz", ".zst"} {
		g, c := pack(graph, how), pack(waits, how)
		for _, tt := range []struct {
			packed string
			args   []string
		}{
			{g, []string{"graph", "-format", "csv", graph}},
			{c, []string{"contention", "-format", "csv", waits}},
			{g, []string{"merge", "-format", "csv", graph, other}},
			{g, []string{"diff", "-format", "json", graph, other}},
		} {
			want := bottleneck(tt.args...)
			for i, arg := range tt.args {
				if arg == graph || arg == waits {
					tt.args[i] = tt.packed
				}
			}
			if got := bottleneck(tt.args...); got.status != exitOK || strings.ReplaceAll(got.out, how, "") != want.out && tt.args[0] != "diff" {
				t.Errorf("%v: status %d, %s%.300s\nwant\n%.300s", tt.args, got.status, got.err, got.out, want.out)
			}
			for i, arg := range tt.args {
				if arg == tt.packed {
					tt.args[i] = "-"
				}
			}
			if got := commandWith(bytes.NewReader(read(t, tt.packed)), tt.args...); got.status != exitOK {
				t.Errorf("%v of %s: status %d, %s", tt.args, tt.packed, got.status, got.err)
			}
		}
		bottleneck("report", "-o", filepath.Join(dir, "r.html"), g).want(t, exitOK, "", "")
		bottleneck("graph", c).want(t, exitUsage, "", c+" is a contention profile: \"bottleneck contention\" reads it")
		cut := filepath.Join(dir, "cut"+how)
		if err := os.WriteFile(cut, read(t, g)[:len(read(t, g))-20], 0o666); err != nil {
			t.Fatal(err)
		}
		bottleneck("graph", cut).want(t, exitFailure, "", "cut"+how+": ")
	}
}
