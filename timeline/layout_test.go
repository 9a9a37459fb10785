package timeline

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestInPlaceReadsTheSame holds the events that are read in place against the
// accessors of the Reader: every record and table must be the same.
func TestInPlaceReadsTheSame(t *testing.T) {
	if _, ok := theLayout(); !ok {
		t.Fatal("the Reader's events do not look as expected: passes go by the accessors and are slower")
	}
	files, _ := filepath.Glob("../testdata/*/*.trace")
	packed, _ := filepath.Glob("../testdata/*/*.zst")
	files = append(files, packed...)
	if len(files) == 0 {
		t.Fatal("no traces in ../testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := plain(t, file)
			table := newStackTable()
			decode := func(byAccessors bool) *decoded {
				rd := &readerDecoder{ctx: context.Background(), stacks: table, byAccessors: byAccessors}
				return rd.decode(bytes.NewReader(data))
			}
			want, got := decode(true), decode(false)
			if want.err != nil || got.err != nil {
				t.Fatalf("errors: by accessors %v, in place %v", want.err, got.err)
			}
			if w, g := recordsOf(want), recordsOf(got); !reflect.DeepEqual(w, g) {
				for i := range min(len(w), len(g)) {
					if w[i] != g[i] {
						t.Fatalf("record %d of %d: in place %+v, by accessors %+v", i, len(w), g[i], w[i])
					}
				}
				t.Fatalf("%d records in place, %d by accessors", len(g), len(w))
			}
			want.chunks, got.chunks = nil, nil
			if !reflect.DeepEqual(want, got) {
				t.Fatal("the records are the same, but the tables are not")
			}
		})
	}
}

func recordsOf(d *decoded) (all []record) {
	for rs := range d.all() {
		all = append(all, rs...)
	}
	return all
}

// plain returns the trace in a file, unpacked.
func plain(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if filepath.Ext(file) == ".zst" {
		u, done, err := unpack(f, "zstd")
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		r = u
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
