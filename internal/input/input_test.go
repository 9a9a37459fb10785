package input

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"testing"
	"time"
)

// The wrapper of pipes loses no data, whatever the sizes of reads and writes.
func TestInterruptible(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	from, to := io.Pipe()
	go func() {
		to.Write(want)
		to.Close()
	}()
	r := interruptible(context.Background(), io.NopCloser(from))
	var got []byte
	for size := 1; ; size = size*7%200_003 + 1 {
		p := make([]byte, size)
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived of %d, or they differ", len(got), len(want))
	}
}

// The progress states how long the server will be tracing.
func TestURLProgress(t *testing.T) {
	for _, tt := range []struct {
		url   string
		since time.Duration
		bytes int64
		want  string
	}{
		{"http://h/debug/pprof/trace?seconds=5", 2 * time.Second, 0, "fetching http://h/debug/pprof/trace?seconds=5: tracing, 2 of 5 s"},
		{"http://h/debug/pprof/trace?seconds=5", 2 * time.Second, 1_250_000, "fetching http://h/debug/pprof/trace?seconds=5: tracing, 2 of 5 s, 1.25 MB"},
		{"http://h/debug/pprof/trace?seconds=5", 7 * time.Second, 3e9, "fetching http://h/debug/pprof/trace?seconds=5, 3 GB"},
		{"http://h/trace", time.Second, 2000, "fetching http://h/trace, 2 kB"},
		{"http://h/trace?seconds=x", time.Second, 0, "fetching http://h/trace?seconds=x"},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		in := URL(u)
		in.meter.done.Store(tt.bytes)
		if got := in.progress(tt.since); got != tt.want {
			t.Errorf("progress %q, want %q", got, tt.want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m meter
	if got := m.String(); got != "" {
		t.Errorf("%q before the first byte", got)
	}
	m.decoded(5_000_000, -1)
	if got := m.String(); got != ": 5 MB" {
		t.Errorf("%q", got)
	}
	m.decoded(5_000_000, 20_000_000)
	if got := m.String(); got != ": 25% of 20 MB" {
		t.Errorf("%q", got)
	}
}
