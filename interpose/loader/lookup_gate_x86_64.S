// The exported dlsym. It asks lookup.cpp, or jumps to the C library's dlsym.
// SPDX-License-Identifier: Apache-2.0
//
// It jumps instead of calling: dlsym(RTLD_NEXT, ...) searches after the object of its return
// address, so a frame of ours in between would change every other library's answer.
// (test/programs/dlsym_next.cpp checks it.)

        .text
        .globl  dlsym
        .type   dlsym, @function
dlsym:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp                        # keeps the stack aligned for the call
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rdx                  # who asks: our return address
        call    vramscope_lookup                # rax = address, rdx = 1 when it is the answer
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rdx, %rdx
        jne     1f
        jmp     *vramscope_real_dlsym(%rip)
1:      ret
        .cfi_endproc
        .size   dlsym, .-dlsym

        .section .note.GNU-stack, "", @progbits
