//go:build linux && cgo

package cycles

// cgoBuild reports whether the program may be linked with a C library.
const cgoBuild = true
