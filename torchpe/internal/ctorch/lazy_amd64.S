// lazy_amd64.S: the functions of shim.h, each of which jumps to where torchpe_functions says it is.

.text

.set number, 0
.macro function name
.globl \name
.type \name, @function
\name:
	mov $number, %r11d
	jmp *torchpe_functions + 8 * number(%rip)
.size \name, . - \name
.set number, number + 1
.endm

#define F(name) function name
#include "functions.h"

// Loads the library and goes to function number r11, with all arguments as they came.
.globl torchpe_resolve
.type torchpe_resolve, @function
torchpe_resolve:
	push %rbp
	mov %rsp, %rbp
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %r8
	push %r9
	push %rax // how many vector registers hold arguments, where their number varies
	push %r11
	sub $128, %rsp
	and $-16, %rsp
	movaps %xmm0, (%rsp)
	movaps %xmm1, 16(%rsp)
	movaps %xmm2, 32(%rsp)
	movaps %xmm3, 48(%rsp)
	movaps %xmm4, 64(%rsp)
	movaps %xmm5, 80(%rsp)
	movaps %xmm6, 96(%rsp)
	movaps %xmm7, 112(%rsp)
	call torchpe_load
	movaps (%rsp), %xmm0
	movaps 16(%rsp), %xmm1
	movaps 32(%rsp), %xmm2
	movaps 48(%rsp), %xmm3
	movaps 64(%rsp), %xmm4
	movaps 80(%rsp), %xmm5
	movaps 96(%rsp), %xmm6
	movaps 112(%rsp), %xmm7
	lea -64(%rbp), %rsp
	pop %r11
	pop %rax
	pop %r9
	pop %r8
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	pop %rbp
	lea torchpe_functions(%rip), %r10
	jmp *(%r10, %r11, 8)
.size torchpe_resolve, . - torchpe_resolve

.section .note.GNU-stack, "", @progbits
