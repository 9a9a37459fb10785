package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
	}{
		{filepath.Join(dir, "missing", "x.svg"), "x.svg: no such file or directory"},
		{filepath.Join(dir, "folder.svg"), "folder.svg: it is a directory"},
		{filepath.Join(locked, "x.svg"), "x.svg: permission denied"},
	} {
		if strings.Contains(tt.want, "permission") && (os.Getuid() <= 0 || runtime.GOOS == "windows") {
			continue // may write everywhere
		}
		// Found before the trace is looked for, let alone read.
		for _, args := range [][]string{{"graph", "missing.trace", "-o", tt.name}, {"demo", "-o", tt.name}} {
			r := bottleneck(args...)
			r.want(t, exitFailure, "", "bottleneck: cannot write ")
			if !strings.Contains(r.err, tt.want) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%v: stderr %q, want %q", args, r.err, tt.want)
			}
		}
	}
}

// A file is replaced as a whole or not at all, and nothing is left beside it.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.txt")
	write := func(text string, err error) error {
		return writeFile(name, func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		})
	}
	content := func() string { return string(read(t, name)) }

	if err := write("first", nil); err != nil || content() != "first" {
		t.Errorf("%q, %v", content(), err)
	}
	if err := write("half", errors.New("out of ink")); err == nil || err.Error() != "cannot write "+name+": out of ink" || content() != "first" {
		t.Errorf("%q, %v", content(), err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write("second", nil); err != nil || content() != "second" {
		t.Errorf("%q, %v", content(), err)
	}
	if st, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("the permissions became %v (%v)", st.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// The file is replaced that a link leads to, not the link.
func TestWriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.txt"), filepath.Join(dir, "target.txt")
	if err := os.WriteFile(target, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.txt", link); err != nil {
		require.Missing(t, err)
	}
	if err := writeFile(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if got := string(read(t, target)); got != "new" {
		t.Errorf("the target holds %q", got)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

// failing refuses everything, as a full disk or a closed pipe does.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
