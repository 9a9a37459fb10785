package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A file is replaced completely or not at all, and no temporary file is left.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.txt")
	write := func(text string, err error) error {
		return Write(name, func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		})
	}
	content := func() string { return read(t, name) }

	if err := write("first", nil); err != nil || content() != "first" {
		t.Errorf("%q, %v", content(), err)
	}
	if err := write("half", errors.New("out of ink")); err == nil || err.Error() != "writing "+name+": out of ink" || content() != "first" {
		t.Errorf("%q, %v", content(), err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(name); err != nil || st.Mode() != was.Mode() {
		t.Errorf("a new file has %v, %v, not what the umask says, %v", st.Mode(), err, was.Mode())
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

// Writing through a link replaces its target, not the link.
func TestWriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.txt"), filepath.Join(dir, "target.txt")
	if err := os.WriteFile(target, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.txt", link); err != nil {
		testenv.Missing(t, err)
	}
	if err := Write(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the target holds %q", got)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}
