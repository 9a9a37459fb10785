//go:build linux && cgo

package cycles

// cgoBuild: the program may be linked with a C library.
const cgoBuild = true
