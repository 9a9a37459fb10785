package perfevent

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

func TestTaskClockCountsWorkNotSleep(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := OpenThread(TaskClock)
	if err != nil {
		t.Skip("this system denies even software events:", err)
	}
	defer e.Close()
	read := func() Count {
		c, err := e.Read()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := read()
	time.Sleep(30 * time.Millisecond)
	slept := read()
	for read().Value-slept.Value < uint64(5*time.Millisecond) {
	}
	if d := slept.Value - before.Value; d > uint64(15*time.Millisecond) {
		t.Errorf("a sleep of 30 ms counted %v of work", time.Duration(d))
	}
	if c := read(); c.Running != c.Enabled {
		t.Errorf("a software event shared its counter: running %d of %d ns", c.Running, c.Enabled)
	}
	if err := e.MapUser(); err != nil {
		t.Log("no control page:", err)
	} else if v, ok := e.ReadUser(); ok {
		t.Errorf("a software event has no hardware counter, but ReadUser returned %d", v)
	}
}

// TestChildren: an event of children counts a child and its descendants, and not this thread.
func TestChildren(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := OpenChildren(TaskClock)
	if err != nil {
		t.Skip("this system denies even software events:", err)
	}
	defer e.Close()
	burn, err := OpenThread(TaskClock)
	if err != nil {
		t.Fatal(err)
	}
	defer burn.Close()
	for c := (Count{}); c.Value < uint64(50*time.Millisecond); {
		if c, err = burn.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := e.Read(); err != nil || c.Value != 0 {
		t.Errorf("this thread counts: %+v, %v", c, err)
	}
	var counts [2]uint64
	for i, script := range []string{"i=0; while [ $i -lt 300 ]; do i=$((i+1)); done", "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; true"} {
		if err := exec.Command("sh", "-c", script).Run(); err != nil {
			t.Skip(err)
		}
		c, err := e.Read()
		if err != nil {
			t.Fatal(err)
		}
		counts[i] = c.Value
	}
	// The grandchild of the second one does nearly all of the work.
	if counts[0] == 0 || counts[1] < 4*counts[0] {
		t.Errorf("children counted %v and then %v", time.Duration(counts[0]), time.Duration(counts[1]))
	}
}

func TestClosedEventFails(t *testing.T) {
	e, err := OpenThread(TaskClock)
	if err != nil {
		t.Skip(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Read(); err == nil {
		t.Error("reading a closed event succeeded")
	}
}

// The page belongs to the kernel. A made-up page shows that one without permission or without a
// counter never reaches RDPMC, which would fault.
func TestReadPageDenied(t *testing.T) {
	for name, set := range map[string]func(page []byte){
		"no permission": func(p []byte) { binary.NativeEndian.PutUint32(p[12:], 1) },
		"no counter":    func(p []byte) { binary.NativeEndian.PutUint64(p[40:], 4) },
	} {
		page := make([]byte, 4096)
		set(page)
		if v, ok := readPage(unsafe.Pointer(&page[0])); ok || v != 0 {
			t.Errorf("%s: read %d, %v; want 0, false", name, v, ok)
		}
	}
}

func TestLookup(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("msr/type", "9\n")
	write("msr/events/tsc", "event=0x07\n")
	write("msr/events/spread", "event=0x1,umask=0x2\n")
	write("odd/type", "many\n")
	defer func(old string) { sysfs = old }(sysfs)
	sysfs = dir

	got, err := Lookup("msr", "tsc")
	if want := (Spec{Name: "msr/tsc", Type: 9, Config: 7}); err != nil || got != want {
		t.Errorf("Lookup(msr, tsc) = %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range [][2]string{{"none", "tsc"}, {"msr", "none"}, {"msr", "spread"}, {"odd", "x"}} {
		if got, err := Lookup(bad[0], bad[1]); err == nil {
			t.Errorf("Lookup(%s, %s) = %+v; want an error", bad[0], bad[1], got)
		}
	}
}
