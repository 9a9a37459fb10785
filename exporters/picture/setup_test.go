package picture_test

import (
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
)

func init() { picture.WritePNG = png.Write }
