package counters

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Reading counters at every quantum (experimental)
//
// Between two readings, a uniform counter is divided evenly, which is right on average only. With
// breakpoints on two functions of the runtime's scheduler, a thread's counters are read whenever it
// begins and ends a quantum, and hardly anything is left to divide:
//
//	runtime.gogo      jumps into a goroutine; the trace has told of the quantum's beginning already
//	runtime.schedule  looks for the next goroutine; the trace has told of the end
//
// Each costs a trap. The functions are found in the program's file, by the symbols or, without
// them, in the table that every Go program carries for its stack traces. The processor's
// breakpoints belong to all debuggers of the thread together: there are four. It is experimental
// because the two functions are the runtime's own business: a later Go may change them. So it
// proves itself: readings must come at the rate of the quanta, else they are said to be missing.

var quantumFuncs = []string{"runtime.gogo", "runtime.schedule"}

// quantumAddresses finds where the process has the functions of the scheduler.
func quantumAddresses(pid int) ([]uint64, error) {
	proc := "/proc/" + strconv.Itoa(pid)
	f, err := elf.Open(proc + "/exe")
	if err != nil {
		return nil, fmt.Errorf("the program's file: %w", err)
	}
	defer f.Close()
	found, err := lookup(f, quantumFuncs)
	if err != nil {
		return nil, err
	}
	bias := uint64(0)
	if f.Type == elf.ET_DYN { // a position-independent executable
		maps, err := os.ReadFile(proc + "/maps")
		if err != nil {
			return nil, err
		}
		exe, err := os.Readlink(proc + "/exe")
		if err != nil {
			return nil, err
		}
		if bias, err = biasOf(string(maps), exe, f); err != nil {
			return nil, err
		}
	}
	for i := range found {
		found[i] += bias
	}
	return found, nil
}

// lookup finds functions by name, in the symbols or else in the table of the runtime.
func lookup(f *elf.File, names []string) ([]uint64, error) {
	found := make([]uint64, len(names))
	left := len(names)
	put := func(name string, address uint64) {
		for i, n := range names {
			if found[i] == 0 && strings.TrimSuffix(name, ".abi0") == n {
				found[i] = address
				left--
			}
		}
	}
	if symbols, err := f.Symbols(); err == nil {
		for _, s := range symbols {
			put(s.Name, s.Value)
		}
	}
	if left == 0 {
		return found, nil
	}
	table, text := f.Section(".gopclntab"), f.Section(".text")
	if table == nil {
		table = f.Section(".data.rel.ro.gopclntab")
	}
	if table == nil || text == nil {
		return nil, errors.New("it is not a Go program, as it has no table of functions")
	}
	data, err := table.Data()
	if err != nil {
		return nil, fmt.Errorf("its table of functions: %w", err)
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("its table of functions: %w", err)
	}
	for i := range t.Funcs {
		put(t.Funcs[i].Name, t.Funcs[i].Entry)
	}
	if left > 0 {
		return nil, fmt.Errorf("its runtime has not all of %s", strings.Join(names, ", "))
	}
	return found, nil
}

// biasOf tells by how much a program was moved: where its first segment is, and where it was linked
// to be.
func biasOf(maps, exe string, f *elf.File) (uint64, error) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line) // from-to rwxp offset device inode path
		if len(fields) < 6 || strings.Join(fields[5:], " ") != exe {
			continue
		}
		from, _, _ := strings.Cut(fields[0], "-")
		at, err := strconv.ParseUint(from, 16, 64)
		offset, err2 := strconv.ParseUint(fields[2], 16, 64)
		if err != nil || err2 != nil {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Off&^0xfff == offset {
				return at - p.Vaddr&^0xfff, nil
			}
		}
	}
	return 0, errors.New("it is not known where the program is in memory")
}
