// Package atomicfile writes files atomically: a reader, or a failure, finds the old file or the new
// one.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// File is a temporary file that replaces its target.
type File struct {
	*os.File
	name   string // as given by the user
	target string // final path; "" if written in place
}

// Check returns an error if a file cannot be written. It does not open a pipe or a device, whose
// reader would notice.
func Check(name string) error {
	if st, err := os.Stat(name); err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return nil
	}
	f, err := Create(name)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// Write writes a file with what write writes.
func Write(name string, write func(io.Writer) error) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	buf := bufio.NewWriterSize(f, 1<<16)
	if err = write(buf); err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return Error(name, err)
	}
	return f.Commit()
}

// Create creates a file beside the named one, with the permissions of a new file, or of the old
// one. A device or a pipe cannot be replaced and is opened instead.
func Create(name string) (*File, error) {
	target, perm := name, fs.FileMode(0)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		target = real // replace the file, not the link to it
	}
	if st, err := os.Stat(target); err == nil {
		switch {
		case st.IsDir():
			return nil, fmt.Errorf("writing %s: is a directory", name)
		case !st.Mode().IsRegular():
			f, err := os.OpenFile(target, os.O_WRONLY, 0)
			if err != nil {
				return nil, Error(name, err)
			}
			return &File{File: f, name: name}, nil
		}
		perm = st.Mode().Perm()
	}
	dir, base := filepath.Split(target)
	for {
		// os.CreateTemp would use mode 0600.
		beside := filepath.Join(dir, fmt.Sprintf(".%.100s.%x.tmp", base, rand.Uint64()))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, Error(name, err)
		}
		if perm != 0 {
			f.Chmod(perm) // best effort: not all file systems have permissions
		}
		return &File{f, name, target}, nil
	}
}

// Commit renames the file to its target.
func (f *File) Commit() error {
	if err := f.Close(); err != nil {
		return Error(f.name, err)
	}
	if f.target == "" {
		return nil
	}
	if err := os.Rename(f.File.Name(), f.target); err != nil {
		return Error(f.name, err)
	}
	return nil
}

// Discard removes the file unless it was committed.
func (f *File) Discard() {
	f.Close()
	if f.target != "" {
		os.Remove(f.File.Name())
	}
}

// Error returns the error of writing a file, by the name given by the user in place of that of the
// temporary file.
func Error(name string, err error) error {
	var pe *os.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return fmt.Errorf("writing %s: %w", name, err)
}
