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
//		ctx := context.Background()
//		bucket, err := blob.OpenBucket(ctx, "file:///var/lib/captures?create_dir=1")
//		if err != nil {
//			log.Fatal(err)
//		}
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		c := capture.New(capture.Options{Recorder: &rec, Sink: &bottleblob.Sink{Bucket: bucket}})
//		slow := c.SlowRequests(http.DefaultServeMux, time.Second)
//		log.Print(http.ListenAndServe("localhost:8080", slow))
//	}
//
// Nothing is removed: set a rule of the bucket that removes objects by age. So the service needs no
// permission to delete, and an instance does not remove captures of others.
//
// Cost: an upload per file of a capture, on the goroutine of the capture, never on one of a request.
// A list of the captures downloads the description of each.
package blob

import (
	"context"
	"encoding/json"
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
}

// List has the latest captures, and takes no longer than that.
const latest, timeout = 100, 10 * time.Second

// Store implements [capture.Sink].
func (s *Sink) Store(ctx context.Context, name string, files []capture.File) error {
	return capture.Create(func(ctx context.Context, name string) (io.WriteCloser, error) {
		return s.Bucket.NewWriter(ctx, s.Prefix+name, nil)
	}).Store(ctx, name, files)
}

// List returns the complete ones of the latest 100 captures, latest first.
func (s *Sink) List() (list []capture.Info, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var names []string // sorted by time, as capture names them
	for i := s.Bucket.List(&blob.ListOptions{Prefix: s.Prefix, Delimiter: "/"}); ; {
		o, err := i.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if o.IsDir {
			names = append(names, o.Key)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names[max(0, len(names)-latest):]) {
		data, err := s.Bucket.ReadAll(ctx, name+capture.InfoFile)
		if gcerrors.Code(err) == gcerrors.NotFound {
			continue // it is not complete, or no capture
		}
		if err != nil {
			return nil, err
		}
		info := capture.Info{}
		if json.Unmarshal(data, &info) == nil && s.Prefix+info.Name+"/" == name {
			info.Bytes += int64(len(data))
			list = append(list, info)
		}
	}
	return list, nil
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
