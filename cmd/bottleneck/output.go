package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// outputs are the files of -o.
type outputs []string

// add is what -o does.
func (o *outputs) add(name string) error {
	same := func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }
	switch {
	case name == "":
		return errors.New("want a name")
	case slices.ContainsFunc(*o, same):
		return errors.New("given twice")
	}
	*o = append(*o, name)
	return nil
}

// tellWritten says on a terminal that a file was written.
func tellWritten(std stdio, name string, err error) {
	if _, terminal := terminalOf(std.err); terminal && err == nil {
		fmt.Fprintf(std.err, "Wrote %s.\n", oneLine(name))
	}
}

// check finds out whether the files can be written, so that nobody waits for a
// long trace in vain.
func (o outputs) check() error {
	for _, name := range o {
		if err := checkFile(name); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(name string) error {
	if st, err := os.Stat(name); err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return nil // opening a pipe would already tell its reader something
	}
	t, err := createTemp(name)
	if err != nil {
		return err
	}
	t.discard()
	return nil
}

// writeFile writes a file as a whole or not at all: whoever reads it during that time sees the
// old one or the new one, and a failure leaves the old one.
func writeFile(name string, write func(io.Writer) error) error {
	t, err := createTemp(name)
	if err != nil {
		return err
	}
	defer t.discard()
	buf := bufio.NewWriterSize(t.file, 1<<16)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return writeError(name, err)
	}
	return t.commit()
}

// temp is a file on its way to its name.
type temp struct {
	name   string // as the user calls it
	target string // where it goes to; "" when it is written in place
	file   *os.File
}

// createTemp creates a file beside the named one, with the permissions that a
// new file, or the old one, has. What is not a regular file, a device or a pipe,
// cannot be replaced: it is opened instead.
func createTemp(name string) (*temp, error) {
	target, perm := name, fs.FileMode(0)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		target = real // replace the file, not the link to it
	}
	if st, err := os.Stat(target); err == nil {
		switch {
		case st.IsDir():
			return nil, fmt.Errorf("cannot write %s: it is a directory", name)
		case !st.Mode().IsRegular():
			f, err := os.OpenFile(target, os.O_WRONLY, 0)
			if err != nil {
				return nil, writeError(name, err)
			}
			return &temp{name: name, file: f}, nil
		}
		perm = st.Mode().Perm()
	}
	dir, base := filepath.Split(target)
	for {
		beside := filepath.Join(dir, fmt.Sprintf(".%.100s.%x.tmp", base, rand.Uint64()))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, writeError(name, err)
		}
		if perm != 0 {
			f.Chmod(perm) // best effort: not all file systems have permissions
		}
		return &temp{name: name, target: target, file: f}, nil
	}
}

// commit gives the file its name.
func (t *temp) commit() error {
	if err := t.file.Close(); err != nil {
		return writeError(t.name, err)
	}
	if t.target == "" {
		return nil
	}
	if err := os.Rename(t.file.Name(), t.target); err != nil {
		var le *os.LinkError
		if errors.As(err, &le) {
			err = le.Err
		}
		return writeError(t.name, err)
	}
	return nil
}

// discard removes the file unless it was committed.
func (t *temp) discard() {
	t.file.Close()
	if t.target != "" {
		os.Remove(t.file.Name())
	}
}

// writeError names the file that the user knows instead of the temporary one.
func writeError(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("cannot write %s: %w", name, err)
}
