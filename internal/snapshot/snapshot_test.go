package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// Reads return what was written, whatever is dropped.
func TestBufferHoldsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 16, 17, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 777} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}
		for _, drop := range []int{0, 16, 17, 40, chunkSize - 1, chunkSize, chunkSize + 16, 2*chunkSize + 5} {
			b := New(t.Context())
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(chunkSize))
				if k, err := b.Write(rest[:n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				rest = rest[n:]
			}
			b.DropTo(int64(drop))
			b.DropTo(int64(drop) / 2) // of the rest
			left := want
			for _, off := range []int{drop, drop / 2} {
				if off > headerSize && off <= len(left) {
					left = append(bytes.Clone(left[:headerSize]), left[off:]...)
				}
			}
			if got, err := io.ReadAll(b.Reader()); err != nil || !bytes.Equal(got, left) {
				t.Fatalf("%d bytes, dropped to %d: %d bytes, want %d; %v", size, drop, len(got), len(left), err)
			}
			part := make([]byte, 100)
			for range 20 {
				off := rng.IntN(len(left) + 10)
				n, err := b.ReadAt(part, int64(off))
				if off > len(left) {
					off = len(left)
				}
				if rest := left[off:]; !bytes.Equal(part[:n], rest[:min(100, len(rest))]) || (n < 100) != (err == io.EOF) {
					t.Fatalf("%d bytes at %d: %d, %v", size, off, n, err)
				}
			}
			var out bytes.Buffer
			if n, err := b.WriteTo(&out); err != nil || n != int64(len(left)) || !bytes.Equal(out.Bytes(), left) {
				t.Fatalf("%d bytes, dropped to %d: wrote %d, %v", size, drop, n, err)
			}
			if b.Size() != 0 {
				t.Error("there is something left")
			}
		}
	}
}

// freeing checks the number of chunks while the buffer is written.
type freeing struct {
	b    *Buffer
	t    *testing.T
	seen int64
}

func (f *freeing) Write(p []byte) (int, error) {
	held := int64(0)
	for _, c := range f.b.chunks {
		if c != nil {
			held += chunkSize
		}
	}
	if limit := f.b.size - f.seen + 2*chunkSize; held > limit {
		f.t.Errorf("after %d of %d bytes, %d are held", f.seen, f.b.size, held)
	}
	f.seen += int64(len(p))
	return len(p), nil
}

func TestBufferReleasesWhatIsSent(t *testing.T) {
	t.Parallel()
	b := New(t.Context())
	b.Write(make([]byte, 10*chunkSize))
	b.WriteTo(&freeing{b: b, t: t})
}

func TestWritingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := New(ctx)
	cancel()
	if _, err := b.Write([]byte("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
