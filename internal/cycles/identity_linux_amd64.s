#include "textflag.h"

// func fsAndTSC() (fs uintptr, tsc int64)
TEXT ·fsAndTSC(SB), NOSPLIT, $0-16
	XORL AX, AX
	CMPB ·byFS(SB), $0
	JEQ  read
	RDFSBASEQ AX

read:
	MOVQ AX, fs+0(FP)
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, tsc+8(FP)
	RET

// func fsSelf() bool
TEXT ·fsSelf(SB), NOSPLIT, $0-1
	RDFSBASEQ AX
	MOVQ (AX), BX
	CMPQ AX, BX
	SETEQ ret+0(FP)
	RET
