package apportion

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		whole := rng.Uint64() >> rng.IntN(64)
		weights := make([]uint64, 1+rng.IntN(20))
		var total uint64
		for i := range weights {
			weights[i] = rng.Uint64() >> (8 + rng.IntN(56))
			total += weights[i]
		}
		if total == 0 {
			continue
		}
		var sum uint64
		for i, part := range Divide(whole, weights) {
			sum += part
			// whole × weight / total, within 1
			exact := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(whole), new(big.Int).SetUint64(weights[i])), new(big.Int).SetUint64(total))
			off := exact.Sub(exact, new(big.Rat).SetInt(new(big.Int).SetUint64(part)))
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("%d of %v: part %d is %d, off by %s", whole, weights, i, part, off.FloatString(3))
			}
		}
		if sum != whole {
			t.Fatalf("%d among %v: the parts sum to %d", whole, weights, sum)
		}
	}
	for _, weights := range [][]uint64{nil, {0, 0}} {
		var sum uint64
		for _, part := range Divide(7, weights) {
			sum += part
		}
		if want := uint64(min(7, 7*len(weights))); sum != want {
			t.Errorf("7 among %v: the parts sum to %d, want %d", weights, sum, want)
		}
	}
}

func TestRound(t *testing.T) {
	const fraction = 16
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		exact := make([]uint64, 1+rng.IntN(20))
		var all uint64
		for i := range exact {
			exact[i] = rng.Uint64() >> (20 + rng.IntN(44))
			all += exact[i]
		}
		for _, whole := range []int64{int64(all >> fraction), int64(all>>fraction) + 1, int64(math.Round(float64(all) / (1 << fraction)))} {
			var sum int64
			for i, part := range Round(whole, exact, fraction) {
				sum += part
				if off := part - int64(exact[i]>>fraction); (off < 0 || off > 1) && whole == int64(all>>fraction) {
					t.Fatalf("%d of %v: number %d is %d", whole, exact, i, part)
				}
			}
			if sum != whole {
				t.Fatalf("%d among %v: the numbers sum to %d", whole, exact, sum)
			}
		}
	}
	if got := Round(-3, []uint64{0, 1 << fraction}, fraction); got[0]+got[1] != -3 {
		t.Errorf("a whole that is too small: %v", got)
	}
}
