/* Functions that unwind tables say nothing about, and one whose frame pointer points nowhere. */
/* SPDX-License-Identifier: Apache-2.0 */
	.text
	.globl without_tables
	.type without_tables, @function
without_tables:
	push %rbx
	call *%rdi
	pop %rbx
	ret
	.size without_tables, .-without_tables

	.globl with_wrong_frame
	.type with_wrong_frame, @function
with_wrong_frame:
	push %rbp
	mov $0x1234567812345670, %rbp
	call *%rdi
	pop %rbp
	ret
	.size with_wrong_frame, .-with_wrong_frame

	.section .note.GNU-stack, "", @progbits
