// Package blob stores captures in an object storage: S3, Google Cloud Storage, Azure, or whatever
// else has a driver for gocloud.dev/blob.
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"net/http"
//		"time"
//
//		"gocloud.dev/blob"
//		_ "gocloud.dev/blob/fileblob" // or s3blob, gcsblob, azureblob
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/capture"
//		bottleblob "github.com/bottleneck-go/bottleneck/exporters/blob"
//	)
//
//	func main() {
//		bucket, err := blob.OpenBucket(context.Background(), "file:///var/lib/shop/captures?create_dir=1")
//		if err != nil {
//			log.Fatal(err)
//		}
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		c := capture.New(capture.Options{Recorder: &rec, Sink: &bottleblob.Sink{Bucket: bucket}})
//		log.Print(http.ListenAndServe("localhost:8080", c.SlowRequests(http.DefaultServeMux, time.Second)))
//	}
//
// Cost: an upload per file of a capture, a list of the bucket's captures, and a download of the
// description of each. All are made on the goroutine of the capture, never on one of a request.
package blob

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/bottleneck-go/bottleneck/capture"
)

// Sink stores captures in a bucket, each under "NAME/" with its description last: one without a
// description is not complete, and is not listed. Several processes may share a bucket.
type Sink struct {
	Bucket *blob.Bucket
	// Prefix comes before the names of all objects, such as "shop/".
	Prefix string
	// Keep is the number of captures that are kept. 0 means 20, and a negative value means all,
	// for buckets whose own rules remove old objects.
	Keep int
	// MaxBytes bounds the bytes of all captures together, if Keep is not negative. 0 means 1 GB.
	// A larger capture is an error.
	MaxBytes int64
}

const (
	listing = 10 * time.Second // for requests of List and Open
	age     = 2 * time.Hour    // after which an incomplete capture is that of a killed process
)

// Store implements [capture.Sink]. After it has stored a capture, it removes the oldest that do not
// fit beside it.
func (s *Sink) Store(ctx context.Context, name string, files []capture.File) error {
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if most := s.maxBytes(); s.Keep >= 0 && size > most {
		return fmt.Errorf("a capture of %d bytes is larger than Sink.MaxBytes, %d", size, most)
	}
	create := capture.Create(func(ctx context.Context, name string) (io.WriteCloser, error) {
		return s.Bucket.NewWriter(ctx, s.Prefix+name, nil)
	})
	if err := create.Store(ctx, name, files); err != nil {
		return err
	}
	if s.Keep < 0 {
		return nil
	}
	if err := s.prune(ctx); err != nil {
		return fmt.Errorf("the capture is stored, but older ones were not removed: %w", err)
	}
	return nil
}

func (s *Sink) maxBytes() int64 { return cmp.Or(s.MaxBytes, 1<<30) }

// prune removes the oldest captures until the others are within the limits, and what killed
// processes have left.
func (s *Sink) prune(ctx context.Context) error {
	list, incomplete, err := s.list(ctx)
	if err != nil {
		return err
	}
	var sum int64
	for i := range list {
		sum += list[i].Bytes
		if i >= cmp.Or(s.Keep, 20) || sum > s.maxBytes() {
			incomplete = append(incomplete, list[i].Name)
		}
	}
	for _, name := range incomplete {
		if err := s.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a capture, its description first.
func (s *Sink) remove(ctx context.Context, name string) error {
	dir := s.Prefix + name + "/"
	if err := s.Bucket.Delete(ctx, dir+capture.InfoFile); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return err
	}
	for o, err := range s.objects(ctx, dir, "") {
		if err == nil {
			err = s.Bucket.Delete(ctx, o.Key)
		}
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound { // others remove it, too
			return err
		}
	}
	return nil
}

// objects yields the objects with a prefix, and an error at the end.
func (s *Sink) objects(ctx context.Context, prefix, delimiter string) func(func(*blob.ListObject, error) bool) {
	return func(yield func(*blob.ListObject, error) bool) {
		i := s.Bucket.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter})
		for {
			o, err := i.Next(ctx)
			if err == io.EOF || !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// List returns the complete captures, latest first.
func (s *Sink) List() ([]capture.Info, error) {
	ctx, cancel := context.WithTimeout(context.Background(), listing)
	defer cancel()
	list, _, err := s.list(ctx)
	return list, err
}

// list returns the complete captures, latest first, and the names of old ones that never will be.
func (s *Sink) list(ctx context.Context) (list []capture.Info, incomplete []string, err error) {
	for o, err := range s.objects(ctx, s.Prefix, "/") {
		if err != nil {
			return nil, nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(o.Key, s.Prefix), "/")
		if !o.IsDir || name == "" {
			continue
		}
		data, err := s.Bucket.ReadAll(ctx, o.Key+capture.InfoFile)
		if gcerrors.Code(err) == gcerrors.NotFound {
			if at, err := time.Parse("20060102T150405.000000Z", strings.SplitN(name, "-", 2)[0]); err == nil && time.Since(at) > age {
				incomplete = append(incomplete, name)
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		info := capture.Info{}
		if json.Unmarshal(data, &info) != nil || info.Name != name {
			continue // it is not a capture
		}
		info.Bytes += int64(len(data))
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b capture.Info) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name)) })
	return list, incomplete, nil
}

// Open opens a file of a capture: its name is that of the capture, a slash, and that of the file.
func (s *Sink) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || strings.Count(name, "/") != 1 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := s.Bucket.NewReader(ctx, s.Prefix+name, nil)
	if err != nil {
		cancel()
		if gcerrors.Code(err) == gcerrors.NotFound {
			err = fs.ErrNotExist
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{r, name, cancel}, nil
}

// file is an object as a file.
type file struct {
	*blob.Reader
	name   string
	cancel context.CancelFunc
}

func (f *file) Close() error {
	defer f.cancel()
	return f.Reader.Close()
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Name() string               { return f.name[strings.LastIndex(f.name, "/")+1:] }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
