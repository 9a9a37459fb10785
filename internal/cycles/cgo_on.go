//go:build linux && cgo

package cycles

// cgoBuild tells that the program may be linked with a C library.
const cgoBuild = true
