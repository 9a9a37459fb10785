#include "textflag.h"

// func hereAt() (thread uintptr, turn Turn, tick int64, marker uint64)
TEXT ·hereAt(SB), NOSPLIT, $0-32
	MOVQ (TLS), AX
	MOVQ ·seqAt(SB), CX
	MOVBLZX (AX)(CX*1), DX
	MOVQ ·reasonAt(SB), CX
	MOVBLZX (AX)(CX*1), BX
	SHLL $8, BX
	ORL  BX, DX
	ORL  $0x80000000, DX
	MOVQ 8(AX), BX
	SUBQ (AX), BX
	BSRQ BX, BX
	SHLL $16, BX
	ORL  BX, DX
	MOVQ ·lockAt(SB), CX
	CMPQ (AX)(CX*1), $0
	JEQ  free
	ORL  $0x40000000, DX

free:
	ANDL ·turnMask(SB), DX
	MOVL DX, turn+8(FP)

	XORL SI, SI // the FS base
	XORL R8, R8 // the identity
	MOVQ ·libcCS(SB), DI
	TESTQ DI, DI
	JNE  libc
	CMPB ·byFS(SB), $0
	JEQ  number
	RDFSBASEQ R8
	JMP  tick

libc:
	RDFSBASEQ SI

number:
	MOVQ ·procidAt(SB), CX
	TESTQ CX, CX
	JEQ  tick
	MOVQ 48(AX), BX
	MOVQ (BX)(CX*1), R8

tick:
	MOVQ R8, thread+0(FP)
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, tick+16(FP)
	XORL BX, BX
	TESTQ SI, SI
	JEQ  done
	MOVQ (SI)(DI*1), BX

done:
	MOVQ BX, marker+24(FP)
	RET

// func fsSelf() bool
TEXT ·fsSelf(SB), NOSPLIT, $0-1
	RDFSBASEQ AX
	MOVQ (AX), BX
	CMPQ AX, BX
	SETEQ ret+0(FP)
	RET

// func fsBase() uintptr
TEXT ·fsBase(SB), NOSPLIT, $0-8
	RDFSBASEQ AX
	MOVQ AX, ret+0(FP)
	RET
