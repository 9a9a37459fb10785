package full

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// Three goroutines wait for channels that nothing else can reach, and one for a channel that is in
// use. The profile has the three, with the place where they wait.
func TestLeakedGoroutines(t *testing.T) {
	shown, err := Pages.Leaks()
	if err != nil {
		t.Skip(err)
	}
	used := make(chan int)
	ended := make(chan bool)
	go func() { waitInUse(used); ended <- true }()
	for range 3 {
		go waitForever(make(chan int))
	}
	leaked := func() (n int64, files []string) {
		var buf bytes.Buffer
		if err := shown.Profile(&buf); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			calls := ""
			for _, l := range s.Location {
				calls += l.Line[0].Function.Name + " "
			}
			if strings.Contains(calls, "waitInUse") {
				t.Fatalf("a goroutine that waits for a channel in use is leaked: %s", calls)
			}
			if strings.Contains(calls, "waitForever") {
				n += s.Value[0]
				for _, l := range s.Location {
					files = append(files, l.Line[0].Function.Filename)
				}
			}
		}
		return n, files
	}
	const trimmed = "github.com/bottleneck-go/bottleneck/exporters/live/full/leaks_test.go"
	n, files := leaked()
	for deadline := time.Now().Add(20 * time.Second); n < 3 && time.Now().Before(deadline); n, files = leaked() { // they may not wait yet
	}
	if n != 3 || slices.ContainsFunc(files, func(f string) bool { return f != trimmed }) {
		t.Errorf("%d leaked goroutines, in the files %q", n, files)
	}
	var text bytes.Buffer
	if err := shown.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"may still run. 3\n", "\n3 goroutines\n", "full.waitForever:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	close(used)
	<-ended
}

// The text of a profile, as the runtime of Go 1.27 writes it.
func TestLeakProfile(t *testing.T) {
	p := leakProfile(`goroutineleak profile: total 3
2 @ 0x48d44e 0x41d1cc 0x5a1b05 0x494b01
# labels: {"user":"a @ b"}
#	0x5a1b04	example.com/shop.(*cache[...]).wait+0x24	/home/ann/shop/cache.go:52
#	0x5a1b04	example.com/shop.refill+0x4		/home/ann/shop/cache.go:60

1 @ 0x48d44e 0x5a1b05
#	0x5a1b04	main.f+0x24	C:/shop/main.go:7

`, time.Now())
	var got []string
	for _, s := range p.Sample {
		got = append(got, fmt.Sprint(s.Value[0]))
		for _, l := range s.Location {
			line := l.Line[0]
			got = append(got, fmt.Sprint(line.Function.Name, " ", line.Function.Filename, " ", line.Line))
		}
	}
	want := []string{"2", "example.com/shop.(*cache[...]).wait /home/ann/shop/cache.go 52", "example.com/shop.refill /home/ann/shop/cache.go 60", "1", "main.f C:/shop/main.go 7"}
	if !slices.Equal(got, want) || p.CheckValid() != nil {
		t.Errorf("%q, %v", got, p.CheckValid())
	}
}

//go:noinline
func waitForever(c chan int) { <-c }

//go:noinline
func waitInUse(c chan int) { <-c }
