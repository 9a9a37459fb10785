package timeline

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// The corpus: recorded traces, shared with the other packages of the module. The README files in
// ../testdata describe them.

// recorded is a trace of the corpus, unpacked.
type recorded struct {
	name string
	data []byte
	real bool // of a real program: large
}

var corpusOnce = sync.OnceValues(func() ([]recorded, error) {
	var all []recorded
	for _, dir := range []string{"../testdata/small", "../testdata/real"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := f.Name()
			if filepath.Ext(name) != ".trace" && filepath.Ext(name) != ".zst" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			if filepath.Ext(name) == ".zst" {
				z, err := zstd.NewReader(bytes.NewReader(data))
				if err != nil {
					return nil, err
				}
				data, err = io.ReadAll(z)
				z.Close()
				if err != nil {
					return nil, err
				}
			}
			all = append(all, recorded{name: name, data: data, real: filepath.Base(dir) == "real"})
		}
	}
	return all, nil
})

// corpus returns all recorded traces.
func corpus(t testing.TB) []recorded {
	t.Helper()
	all, err := corpusOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 12 {
		t.Fatalf("only %d traces in the corpus", len(all))
	}
	return all
}

// slow reports whether a trace takes long under the race detector, which finds in it what it finds in
// the others.
func (c *recorded) slow() bool { return race.Enabled && len(c.data) > 200_000 }

// smallTrace returns one small trace of the corpus.
func smallTrace(t testing.TB, name string) []byte {
	t.Helper()
	for _, c := range corpus(t) {
		if c.name == name {
			return c.data
		}
	}
	t.Fatalf("no trace %s in the corpus", name)
	return nil
}

// mustRead replays a trace that must be valid.
func mustRead(t testing.TB, data []byte, opt Options, observers ...Observer) *Info {
	t.Helper()
	info, err := Read(context.Background(), bytes.NewReader(data), opt, observers...)
	if err != nil {
		t.Fatalf("%s: %v", opt.Name, err)
	}
	return info
}

// generations cuts a trace into files of one generation each.
func generations(t testing.TB, data []byte) [][]byte {
	t.Helper()
	version, err := parseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	if version < firstGenerational {
		return [][]byte{data}
	}
	c := &cutter{src: &fileSource{r: bytes.NewReader(data), size: int64(len(data))}, scanner: scanner{version: version}, pos: headerSize}
	var files [][]byte
	for {
		g, err := c.next()
		if err == io.EOF {
			return files
		}
		if err != nil || g.cut != nil {
			t.Fatal(err, g.cut)
		}
		files = append(files, append(bytes.Clone(data[:headerSize]), data[g.off:g.off+g.size]...))
	}
}
