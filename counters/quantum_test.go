package counters

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// TestQuantumAddresses: the scheduler is found in a program with symbols, without, and moved.
func TestQuantumAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := lookup(f, quantumFuncs)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range found {
		if fn := runtime.FuncForPC(uintptr(a)); f.Type == elf.ET_EXEC && (fn == nil || fn.Name() != quantumFuncs[i]) {
			t.Errorf("%s at %#x is %v", quantumFuncs[i], a, fn)
		}
	}
	if _, err := lookup(f, []string{"runtime.noSuchFunction"}); err == nil || !strings.Contains(err.Error(), "noSuchFunction") {
		t.Errorf("a function that there is not: %v", err)
	}
	strip := require.Program(t, "strip")
	bare := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.Command(strip, "-o", bare, exe).CombinedOutput(); err != nil {
		t.Skipf("%s", out)
	}
	g, err := elf.Open(bare)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if again, err := lookup(g, quantumFuncs); err != nil || again[0] != found[0] || again[1] != found[1] {
		t.Errorf("without symbols: %#x, %v; with them %#x", again, err, found)
	}
	if sh, err := elf.Open("/bin/sh"); err == nil {
		defer sh.Close()
		if _, err := lookup(sh, quantumFuncs); err == nil || !strings.Contains(err.Error(), "not a Go program") {
			t.Errorf("a shell: %v", err)
		}
	}
}

// TestBias: how far a position-independent program was moved follows from its first segment.
func TestBias(t *testing.T) {
	f := &elf.File{Progs: []*elf.Prog{
		{ProgHeader: elf.ProgHeader{Type: elf.PT_PHDR, Off: 0x40, Vaddr: 0x40}},
		{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Off: 0, Vaddr: 0}},
		{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Off: 0x1000, Vaddr: 0x2000}},
	}}
	maps := "7f00-7f10 r--p 00000000 08:01 1 /lib/ld.so\n5550001000-5550002000 r--p 00000000 08:01 1234 /a b/prog\n5550003000-5550009000 r-xp 00001000 08:01 1234 /a b/prog\n"
	if got, err := biasOf(maps, "/a b/prog", f); err != nil || got != 0x5550001000 {
		t.Errorf("%#x, %v", got, err)
	}
	if _, err := biasOf(maps, "/other", f); err == nil {
		t.Error("a program that is not there")
	}
}
