/* Functions that unwind tables say nothing about, and one whose frame pointer points nowhere. */
/* SPDX-License-Identifier: Apache-2.0 */
	.text
	.globl without_tables
	.type without_tables, %function
without_tables:
#ifdef __aarch64__
	hint #34
	stp x29, x30, [sp, #-16]!
	blr x0
	ldp x29, x30, [sp], #16
#else
	push %rbx
	call *%rdi
	pop %rbx
#endif
	ret
	.size without_tables, .-without_tables

	.globl with_wrong_frame
	.type with_wrong_frame, %function
with_wrong_frame:
#ifdef __aarch64__
	hint #34
	stp x29, x30, [sp, #-16]!
	movz x29, #0x5670
	movk x29, #0x1234, lsl #16
	movk x29, #0x5678, lsl #32
	movk x29, #0x1234, lsl #48
	blr x0
	ldp x29, x30, [sp], #16
#else
	push %rbp
	mov $0x1234567812345670, %rbp
	call *%rdi
	pop %rbp
#endif
	ret
	.size with_wrong_frame, .-with_wrong_frame

	.section .note.GNU-stack, "", %progbits
