package cycles

// haveTSC reports whether there is a counter of constant rate. Every arm64 has CNTVCT_EL0, whose
// rate is the same on all cores.
const haveTSC = true

// ticks reads CNTVCT_EL0. Its rate is 1 GHz on recent machines and as low as
// 19 MHz on older ones.
//
//go:noescape
func ticks() int64
