// void vramscope_switch_stack(void* end, void (*function)(void*), void* argument): calls the function
// on the stack that ends there.
// SPDX-License-Identifier: Apache-2.0
//
// Its frame has a frame record, so that unwinders cross from one stack to the other. The first word
// of the new stack is the address of the frame (own_stack.cpp reads it).

        .text
        .hidden vramscope_switch_stack
        .globl  vramscope_switch_stack
        .type   vramscope_switch_stack, %function
vramscope_switch_stack:
        .cfi_startproc
        hint    #34                             // bti c
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        mov     sp, x0
        stp     xzr, x29, [sp, #-16]!
        mov     x0, x2
        blr     x1
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   vramscope_switch_stack, .-vramscope_switch_stack

        .section .note.GNU-stack, "", %progbits
