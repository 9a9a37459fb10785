//go:build !purego

#include "textflag.h"

// func walk(depth int, above unsafe.Pointer) uint64
//
// As in walk_amd64.s, with one difference: the frame pointer of a function is at the low end of its frame, so that its
// variables lie between it and the frame pointer of its caller. The function has no frame, so R29 is still the caller's:
// 0(R29) is the frame pointer of the next frame and 8(R29) the return address into it.
TEXT ·walk(SB), NOSPLIT, $0-24
	MOVD	depth+0(FP), R0
	MOVD	above+8(FP), R1
	MOVD	0(g), R2		// stack.lo
	MOVD	8(g), R3		// stack.hi
	SUB	$16, R3			// the last address with room for a frame
	MOVD	R29, R4
	MOVD	$0x9e3779b97f4a7c15, R5
	MOVD	ZR, R6

	// Frames below that of the variable at R1 are skipped, if R1 is on the stack.
	CMP	R4, R1
	BLO	frame
	CMP	R3, R1
	BHI	frame

skip:
	CMP	R2, R4
	BLO	done
	MOVD	0(R4), R7
	CBZ	R7, frame		// the root
	CMP	R1, R7
	BHI	frame
	ADD	$1, R4, R2
	MOVD	R7, R4
	JMP	skip

frame:
	CMP	R2, R4
	BLO	done
	CMP	R3, R4
	BHI	done
	MOVD	8(R4), R7
	EOR	R7, R6
	MUL	R5, R6
	LSR	$32, R6, R7
	EOR	R7, R6
	ADD	$1, R4, R2
	MOVD	0(R4), R4
	SUBS	$1, R0
	BNE	frame

done:
	MOVD	R6, ret+16(FP)
	RET

// func gword(offset uintptr) uint64
TEXT ·gword(SB), NOSPLIT, $0-16
	MOVD	offset+0(FP), R0
	MOVD	(g)(R0), R0
	MOVD	R0, ret+8(FP)
	RET
