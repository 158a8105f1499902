// A 32-bit program without any library: the loader runs, the program says so.
// SPDX-License-Identifier: Apache-2.0
        .text
        .globl  _start
_start:
        call    1f
1:      popl    %ecx
        addl    $text - 1b, %ecx
        movl    $4, %eax                        # write(1, text, 11)
        movl    $1, %ebx
        movl    $11, %edx
        int     $0x80
        movl    $1, %eax                        # exit(9)
        movl    $9, %ebx
        int     $0x80
text:   .ascii  "in 32 bits\n"
        .section .note.GNU-stack, "", @progbits
