//go:build cycles_cgo

package cycles

import _ "net" // with cgo, links the C library
