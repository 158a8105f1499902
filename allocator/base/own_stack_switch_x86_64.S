// void vramscope_switch_stack(void* end, void (*function)(void*), void* argument): calls the function
// on the stack that ends there.
// SPDX-License-Identifier: Apache-2.0
//
// Its frame has a frame pointer, so that unwinders cross from one stack to the other. The first
// word of the new stack is the address of the frame (own_stack.cpp reads it).

        .text
        .hidden vramscope_switch_stack
        .globl  vramscope_switch_stack
        .type   vramscope_switch_stack, @function
vramscope_switch_stack:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rsp
        pushq   %rbp
        pushq   $0                              # keeps the stack aligned for the call
        movq    %rdx, %rdi
        call    *%rsi
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   vramscope_switch_stack, .-vramscope_switch_stack

        .section .note.GNU-stack, "", @progbits
