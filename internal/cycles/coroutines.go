package cycles

import (
	"bytes"
	"runtime"
	"sync"
	"unsafe"
)

// Coroutines reports whether the program may contain coroutines: whether the linker has kept the
// function that makes them for iter.Pull. Without them any goroutine can be locked to its thread
// without breaking the program; with them, advancing a coroutine with other locks than it was made
// with ends it. What cannot be read counts as containing them.
var Coroutines = sync.OnceValue(func() bool {
	names := functionNames()
	has := func(name string) bool { return bytes.Contains(names, []byte("\x00"+name+"\x00")) }
	return !has("runtime.gopark") || !has("runtime.GC") || has("runtime.newcoro")
})

// functionNames returns the names of all functions of the program, each followed by a zero byte;
// nil if they are not found. A *runtime.Func is the entry of the function in the runtime's table,
// whose second word of 32 bits is the place of its name in the names; the header of the table, in
// front of them, says how far the names are from itself, and then how far what follows them is.
func functionNames() []byte {
	f := runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&runtimeGC)))
	if f == nil {
		return nil
	}
	name := f.Name()
	place := uintptr((*[2]int32)(unsafe.Pointer(f))[1])
	begin := uintptr(unsafe.Pointer(unsafe.StringData(name))) - place
	const magic, words = 0xfffffff1, 16
	size := unsafe.Sizeof(begin)
	for back := range uintptr(words) {
		at := begin - (back+1)*size
		header := *(**[words]uintptr)(unsafe.Pointer(&at))
		if uint32(header[0]) != magic {
			continue
		}
		for i := uintptr(1); i < back; i++ {
			if header[i] == (back+1)*size && header[i+1] > header[i] {
				return unsafe.Slice(*(**byte)(unsafe.Pointer(&begin)), header[i+1]-header[i])
			}
		}
		return nil
	}
	return nil
}

var runtimeGC = runtime.GC
