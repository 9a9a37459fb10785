//go:build !amd64 && !arm64

package cycles

const haveTSC = false

func ticks() int64 { return nanoticks() }
