package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/capture"
)

// buckets returns an empty bucket of each driver that needs no network.
func buckets(t *testing.T) map[string]*blob.Bucket {
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*blob.Bucket{"memory": memblob.OpenBucket(nil), "files": files}
	for _, b := range all {
		t.Cleanup(func() { b.Close() })
	}
	return all
}

// named returns the name of a capture at a time, as package capture makes them.
func named(at time.Time) string {
	return at.UTC().Format("20060102T150405.000000Z") + "-host-1-test"
}

// store stores a capture of a size.
func store(t *testing.T, s *Sink, at time.Time, size int) error {
	t.Helper()
	info := capture.Info{Name: named(at), Time: at, Reason: "test", Files: []string{capture.TraceFile}, Bytes: int64(size)}
	data, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	return s.Store(t.Context(), info.Name, []capture.File{
		{Name: capture.TraceFile, Size: int64(size), Data: strings.NewReader(strings.Repeat("x", size))},
		{Name: capture.InfoFile, Size: int64(len(data)), Data: bytes.NewReader(data)}})
}

// keys returns the names of all objects.
func keys(t *testing.T, b *blob.Bucket) (names []string) {
	for i := b.List(nil); ; {
		o, err := i.Next(t.Context())
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, o.Key)
	}
}

// Captures are listed latest first, under the prefix alone. Nothing is removed.
func TestListsTheLatestFirst(t *testing.T) {
	for driver, bucket := range buckets(t) {
		for _, prefix := range []string{"", "shop/"} {
			s := &Sink{Bucket: bucket, Prefix: prefix}
			if err := bucket.WriteAll(t.Context(), "other", []byte("of others"), nil); err != nil {
				t.Fatal(err)
			}
			if list, err := s.List(); err != nil || len(list) != 0 {
				t.Errorf("%s: an empty bucket has %v, %v", driver, list, err)
			}
			for i := range 5 {
				if err := store(t, s, time.Unix(int64(i), 0), 1000); err != nil {
					t.Fatal(err)
				}
			}
			list, err := s.List()
			if err != nil || len(list) != 5 || list[0].Name != named(time.Unix(4, 0)) || list[4].Name != named(time.Unix(0, 0)) {
				t.Fatalf("%s: of five captures, these are listed: %v, %v", driver, list, err)
			}
			want := fmt.Sprintf("%[1]s/capture.json %[1]s/program.trace", prefix+named(time.Unix(2, 0)))
			if got := strings.Join(keys(t, bucket), " "); !strings.Contains(got, "other") || !strings.Contains(got, want) {
				t.Errorf("%s: the bucket has %s, want other and %s", driver, got, want)
			}
		}
	}
}

// A capture whose upload failed, or whose process was killed before the last file, is never listed.
func TestHalfACaptureIsNeverListed(t *testing.T) {
	for driver, bucket := range buckets(t) {
		s := &Sink{Bucket: bucket}
		if err := bucket.WriteAll(t.Context(), named(time.Now())+"/"+capture.TraceFile, []byte("half"), nil); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		err := s.Store(t.Context(), "failed", []capture.File{
			{Name: capture.TraceFile, Data: failing{broken}},
			{Name: capture.InfoFile, Data: strings.NewReader(`{"name":"failed"}`)}})
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v", driver, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Store(ctx, "late", []capture.File{{Name: capture.InfoFile, Data: strings.NewReader(`{"name":"late"}`)}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", driver, err)
		}
		if list, err := s.List(); err != nil || len(list) != 0 {
			t.Errorf("%s: listed: %v, %v", driver, list, err)
		}
		if got := strings.Join(keys(t, bucket), " "); strings.Contains(got, "failed") || strings.Contains(got, "late") {
			t.Errorf("%s: the bucket has %s", driver, got)
		}
	}
}

type failing struct{ err error }

func (f failing) WriteTo(w io.Writer) (int64, error) {
	n, _ := w.Write([]byte("half"))
	return int64(n), f.err
}

type noTrace struct{}

func (noTrace) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("no trace"))
	return int64(n), err
}

// The pages of a Capturer list what is in the bucket and show its files.
func TestPagesOfACapturer(t *testing.T) {
	for driver, bucket := range buckets(t) {
		s := &Sink{Bucket: bucket, Prefix: "p-"}
		c := capture.New(capture.Options{Recorder: &bottle.Recorder{Source: noTrace{}}, Sink: s, NoVerdict: true})
		c.Trigger("by hand")
		c.Stop()
		if stats := c.Stats(); stats.Captured != 1 {
			t.Fatalf("%s: %+v", driver, stats)
		}
		list, err := s.List()
		if err != nil || len(list) != 1 || list[0].Reason != "by hand" {
			t.Fatalf("%s: %v, %v", driver, list, err)
		}
		for query, want := range map[string]string{
			"": "by hand",
			"?capture=" + list[0].Name + "&file=" + capture.TraceFile: "no trace",
			"?capture=" + list[0].Name + "&file=nothing":              "no such file",
			"?capture=.&file=.": "no such file",
		} {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("GET", "/captures"+query, nil))
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s has no %q: %d %s", driver, query, want, w.Code, w.Body)
			}
		}
		f, err := s.Open(list[0].Name + "/" + capture.TraceFile)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := f.Stat(); err != nil || i.Name() != capture.TraceFile || i.Size() != 8 || i.IsDir() {
			t.Errorf("%s: %v, %v", driver, i, err)
		}
		f.Close()
	}
}

var _ fs.FS = (*Sink)(nil)
