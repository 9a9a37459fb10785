package schedstat

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// An exited thread keeps what was seen of it. A thread that existed before counts from then on.
func TestMeter(t *testing.T) {
	root := t.TempDir()
	set := func(pid, tid int, text string) {
		t.Helper()
		dir := filepath.Join(root, fmt.Sprint(pid), "task", fmt.Sprint(tid))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old := procRoot
	procRoot = root
	defer func() { procRoot = old }()
	machine := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "stat"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set(7, 7, "1000 50 3\n")
	machine("cpu  100 0 0 5000 7 0 0 0 90 0\ncpu0 1 2 3 4\n")
	m := newMeter(func() []int { return []int{7} })
	for k, v := range m.look() {
		m.first[k] = v
	}
	set(7, 7, "3000 80 5\n")
	set(7, 8, "400 6 1\n")
	set(7, 9, "nonsense")
	machine("cpu  101 1 1 6000 8 1 1 1 95 0\ncpu0 1 2 3 4\n")
	m.look()
	if err := os.RemoveAll(filepath.Join(root, "7", "task", "8")); err != nil {
		t.Fatal(err)
	}
	go m.loop()
	got, ok := m.stop()
	if want := (Times{2400, 36, 60*time.Millisecond - 2400}); got != want || !ok {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	if got.Lost() != 36 || (Times{1, 36, 20}).Lost() != 20 || (Times{1, 36, -1}).Lost() != 36 {
		t.Error("the lost time is not the delay, bounded by the usage of other programs where known")
	}
	if _, ok := Watch(12345)(); ok {
		t.Error("a process that does not exist was measured")
	}
}

func TestDescendants(t *testing.T) {
	root := t.TempDir()
	for pid, of := range map[int][2]string{
		10: {"go", "11 12 "}, 11: {"compile", ""}, 12: {"x.test", "13 99"}, 13: {"x (1)\ntest", "10"}, 14: {"x.test", ""},
	} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		task := filepath.Join(dir, "task", fmt.Sprint(pid))
		if err := os.MkdirAll(task, 0o777); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, "comm"), []byte(of[0]+"\n"), 0o666)
		os.WriteFile(filepath.Join(task, "children"), []byte(of[1]), 0o666)
	}
	old := procRoot
	procRoot = root
	defer func() { procRoot = old }()
	got := descendants(10, func(c string) bool { return c == "x.test" || c == "x (1)\ntest" })
	if len(got) < 2 || got[0] != 12 || got[1] != 13 {
		t.Errorf("%v, want 12 and 13", got) // not repeated: the children of 13 form a cycle
	}
}

// This process itself.
func TestSelf(t *testing.T) {
	stop := Watch(os.Getpid())
	begin, x := time.Now(), 0
	for time.Since(begin) < 30*time.Millisecond {
		x++
	}
	d, ok := stop()
	if runtime.GOOS == "linux" && (!ok || d.Running+d.Delay <= 0) {
		t.Errorf("%+v, %v after 30 ms of work", d, ok)
	}
	if again, _ := stop(); again != d {
		t.Errorf("a second stop gives %+v", again)
	}
	if runtime.GOOS != "linux" && ok {
		t.Error("measured without a kernel that reports it")
	}
}

// Values that the kernel does not report, or reports in an unknown form, are unknown.
func TestNoMachine(t *testing.T) {
	for _, text := range []string{"", "cpu", "cpu0 1 2 3 4", "cpu 1 x 3 4", "cpu -1 2 3 4", "intr 1 2 3 4 5"} {
		if d, ok := parseMachine([]byte(text)); ok {
			t.Errorf("%q: %v", text, d)
		}
	}
	if d, ok := parseMachine([]byte("cpu 1 2 3 4\n")); !ok || d != 60*time.Millisecond {
		t.Errorf("an old kernel: %v, %v", d, ok)
	}
	old := procRoot
	procRoot = t.TempDir()
	defer func() { procRoot = old }()
	if got, ok := Watch(7)(); ok || got.Others != -1 || got.Lost() != 0 {
		t.Errorf("%+v, %v", got, ok)
	}
}
