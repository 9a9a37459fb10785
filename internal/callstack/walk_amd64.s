//go:build !purego

#include "textflag.h"

// func walk(depth int, above unsafe.Pointer) uint64
//
// The frame is empty, so BP is still the caller's: 0(BP) is the saved frame
// pointer of the next frame and 8(BP) the return address into it. The stack
// bounds are the first two words of the g; each step must stay within them and
// move towards the root. The multiplication spreads the low bits upwards and the
// shift brings the high ones back, so that the order of the addresses matters.
TEXT ·walk(SB), NOSPLIT, $0-24
	MOVQ	depth+0(FP), CX
	MOVQ	above+8(FP), DI
	MOVQ	(TLS), SI
	MOVQ	0(SI), R8		// stack.lo
	MOVQ	8(SI), R9		// stack.hi
	SUBQ	$16, R9			// the last address with room for a frame
	MOVQ	BP, BX
	MOVQ	$0x9e3779b97f4a7c15, R10
	XORQ	AX, AX

	// Frames below the variable at DI are skipped, if DI is on the stack.
	CMPQ	DI, BX
	JB	frame
	CMPQ	DI, R9
	JA	frame

skip:
	CMPQ	BX, DI
	JA	frame
	CMPQ	BX, R8
	JB	done
	LEAQ	1(BX), R8
	MOVQ	0(BX), BX
	JMP	skip

frame:
	CMPQ	BX, R8
	JB	done
	CMPQ	BX, R9
	JA	done
	XORQ	8(BX), AX
	IMULQ	R10, AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	XORQ	DX, AX
	LEAQ	1(BX), R8
	MOVQ	0(BX), BX
	DECQ	CX
	JNZ	frame

done:
	MOVQ	AX, ret+16(FP)
	RET

// func gword(offset uintptr) uint64
TEXT ·gword(SB), NOSPLIT, $0-16
	MOVQ	offset+0(FP), BX
	MOVQ	(TLS), SI
	MOVQ	(SI)(BX*1), AX
	MOVQ	AX, ret+8(FP)
	RET
