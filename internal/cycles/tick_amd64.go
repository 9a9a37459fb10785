package cycles

// haveTSC reports whether the time-stamp counter runs at a constant rate in all power states (CPUID
// 8000_0007H: EDX bit 8, "invariant TSC").
var haveTSC = invariantTSC()

func ticks() int64 {
	if haveTSC {
		return rdtsc()
	}
	return nanoticks()
}

func invariantTSC() bool {
	const highest, power, invariant = 0x80000000, 0x80000007, 1 << 8
	if max, _ := cpuid(highest); max < power {
		return false
	}
	_, edx := cpuid(power)
	return edx&invariant != 0
}

// rdtsc reads the time-stamp counter. It is not fenced: the error is tens of cycles, less than the
// cost of a fence.
//
//go:noescape
func rdtsc() int64

// cpuid executes CPUID for a leaf, with ECX = 0.
//
//go:noescape
func cpuid(leaf uint32) (eax, edx uint32)
