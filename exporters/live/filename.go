package live

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Call stacks name source files as the build machine did, such as
// "/home/ann/src/shop/cart/cart.go", which reveals who built the program, and where. Unless
// Options.FilePaths is set, the names are replaced by those of "go build -trimpath",
// "example.com/shop/cart/cart.go", to the extent that the function's name contains them.

// sourceFile returns the file name of a function, derived from its package.
func sourceFile(function, file string) string {
	slash := strings.LastIndexAny(file, `/\`)
	if slash < 0 {
		return file
	}
	base := file[slash+1:]
	if p := symbol.Package(symbol.Unescape(function)); p != "" {
		return p + "/" + base
	}
	return base
}
