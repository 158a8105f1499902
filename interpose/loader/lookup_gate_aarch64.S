// The exported dlsym. It asks lookup.cpp, or jumps to the C library's dlsym.
// SPDX-License-Identifier: Apache-2.0
//
// A jump, not a call, as on x86-64 (lookup_gate_x86_64.S).

        .text
        .globl  dlsym
        .type   dlsym, %function
dlsym:
        .cfi_startproc
        hint    #34                             // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        mov     x2, x30                         // who asks: our return address
        bl      vramscope_lookup                // x0 = address, x1 = 1 when it is the answer
        cbnz    x1, 1f
        ldp     x0, x1, [sp, #16]
        .cfi_remember_state
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        adrp    x16, vramscope_real_dlsym
        ldr     x16, [x16, #:lo12:vramscope_real_dlsym]
        br      x16
1:      .cfi_restore_state
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   dlsym, .-dlsym

        .section .note.GNU-stack, "", %progbits
