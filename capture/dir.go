package capture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sink stores captures, in a directory (see [Dir]) or in an object storage.
type Sink interface {
	// Store stores the files of a capture under a name that no other capture has. The last file is
	// InfoFile; a capture is complete once that is stored. If Store fails, the capture is lost.
	//
	// No other capture is taken until Store returns. It must return when ctx is done: after
	// Options.Every, at least a minute, or ten seconds after Stop.
	Store(ctx context.Context, name string, files []File) error
}

// File is a file of a capture.
type File struct {
	Name string
	Size int64
	// Data can be written only once.
	Data io.WriterTo
}

// Create returns a Sink that writes files which create opens, such as objects of a storage service.
// The name of a file is that of its capture, a slash, and that of the file. Close must store the
// file, unless ctx is done, which means that writing failed.
func Create(create func(ctx context.Context, name string) (io.WriteCloser, error)) Sink {
	return creator(create)
}

type creator func(ctx context.Context, name string) (io.WriteCloser, error)

func (create creator) Store(ctx context.Context, name string, files []File) error {
	for _, f := range files {
		if err := create.one(ctx, name+"/"+f.Name, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func (create creator) one(ctx context.Context, name string, f File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := create(ctx, name)
	if err != nil {
		return err
	}
	_, err = f.Data.WriteTo(w)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		cancel()
	}
	return cmp.Or(err, w.Close())
}

// Dir is a directory with a subdirectory for each capture. A capture appears only when it is
// complete. Several processes may share a directory. The zero values of Keep and MaxBytes are ready
// to use.
type Dir struct {
	// Path is the directory. Store creates it if necessary, accessible only to the user.
	Path string
	// Keep is the number of captures that are kept. 0 means 20.
	Keep int
	// MaxBytes bounds the total size of all captures. 0 means 1 GB. Store fails for a capture that
	// is larger.
	MaxBytes int64

	mu sync.Mutex
}

const (
	partial    = ".partial-"   // prefix of captures that are being written
	partialAge = 2 * time.Hour // after which they are leftovers of a killed process
)

// Store implements [Sink]. It first removes the oldest captures, so that the new one fits.
func (d *Dir) Store(ctx context.Context, name string, files []File) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if most := d.maxBytes(); size > most {
		return fmt.Errorf("a capture of %d bytes is larger than Dir.MaxBytes, %d", size, most)
	}
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return err
	}
	if err := d.prune(size); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(d.Path, partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := writeFile(filepath.Join(tmp, f.Name), f.Data); err != nil {
			return err
		}
	}
	return os.Rename(tmp, filepath.Join(d.Path, name))
}

// writeFile writes a file that is on disk when it returns.
func writeFile(name string, data io.WriterTo) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = data.WriteTo(f)
	return cmp.Or(err, f.Sync(), f.Close())
}

func (d *Dir) maxBytes() int64 { return cmp.Or(d.MaxBytes, 1<<30) }

// prune removes the oldest captures until another one of the given size fits, and the leftovers of
// killed processes.
func (d *Dir) prune(size int64) error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partial) {
			continue
		}
		if i, err := e.Info(); err == nil && time.Since(i.ModTime()) > partialAge {
			if err := os.RemoveAll(filepath.Join(d.Path, e.Name())); err != nil {
				return err
			}
		}
	}
	list, err := d.List()
	if err != nil {
		return err
	}
	sum := size
	for _, c := range list {
		sum += c.Bytes
	}
	for keep := cmp.Or(d.Keep, 20); len(list) > 0 && (len(list) >= keep || sum > d.maxBytes()); {
		oldest := list[len(list)-1]
		list = list[:len(list)-1]
		if err := os.RemoveAll(filepath.Join(d.Path, oldest.Name)); err != nil {
			return err
		}
		sum -= oldest.Bytes
	}
	return nil
}

// List returns the complete captures, latest first. A directory that does not exist is empty.
func (d *Dir) List() ([]Info, error) {
	entries, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(d.Path, e.Name(), InfoFile))
		if err != nil {
			continue // it is no capture, or another process has just removed it
		}
		info := Info{}
		if json.Unmarshal(data, &info) != nil || info.Name != e.Name() {
			continue
		}
		info.Bytes += int64(len(data))
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name)) })
	return list, nil
}

// Open opens a file of a capture: its name is that of the capture, a slash, and that of the file.
func (d *Dir) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, ".") || strings.Count(name, "/") != 1 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.FS().Open(name)
}
