#include "textflag.h"

// Offsets in struct perf_event_mmap_page.
#define PAGE_LOCK 8
#define PAGE_INDEX 12
#define PAGE_OFFSET 16
#define PAGE_CAPABILITIES 40
#define PAGE_PMC_WIDTH 48

// Bit of cap_user_rdpmc in the capabilities.
#define CAP_USER_RDPMC 4

// func readPage(page unsafe.Pointer) (value uint64, ok bool)
TEXT ·readPage(SB), NOSPLIT, $0-17
	MOVQ page+0(FP), BX

again:
	// Loads are not reordered with loads on amd64, nor with RDPMC around the
	// fences; the lock is odd while the kernel writes.
	MOVL PAGE_LOCK(BX), SI
	TESTL $1, SI
	JNZ  again
	MOVQ PAGE_CAPABILITIES(BX), AX
	TESTQ $CAP_USER_RDPMC, AX
	JZ   denied
	MOVL PAGE_INDEX(BX), CX
	TESTL CX, CX
	JZ   denied
	MOVQ PAGE_OFFSET(BX), DI
	MOVWLZX PAGE_PMC_WIDTH(BX), R8
	DECL CX
	LFENCE
	RDPMC
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX

	// Sign-extend from pmc_width bits: counters start below zero.
	MOVL $64, CX
	SUBL R8, CX
	SHLQ CX, AX
	SARQ CX, AX
	ADDQ DI, AX
	CMPL SI, PAGE_LOCK(BX)
	JNE  again
	MOVQ AX, value+8(FP)
	MOVB $1, ok+16(FP)
	RET

denied:
	CMPL SI, PAGE_LOCK(BX)
	JNE  again
	MOVQ $0, value+8(FP)
	MOVB $0, ok+16(FP)
	RET
