#include "textflag.h"

// func here() (thread, goroutine uintptr, tick int64)
TEXT ·here(SB), NOSPLIT, $0-24
	MOVQ (TLS), AX
	MOVQ AX, goroutine+8(FP)
	XORL AX, AX
	CMPB ·byFS(SB), $0
	JEQ  read
	RDFSBASEQ AX

read:
	MOVQ AX, thread+0(FP)
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, tick+16(FP)
	RET

// func fsSelf() bool
TEXT ·fsSelf(SB), NOSPLIT, $0-1
	RDFSBASEQ AX
	MOVQ (AX), BX
	CMPQ AX, BX
	SETEQ ret+0(FP)
	RET
