// The beginning of the simulated libraries' exported symbols: plain code that tools which patch
// functions (UCX, Detours and similar) can move elsewhere, then a jump through a slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __aarch64__
// Like the macro below, with the instructions that may begin a function whose address is taken.
#define VRAMSCOPE_ENTRY(symbol, labels)               \
  asm(".text\n"                                       \
      ".p2align 4\n" labels                           \
      ".cfi_startproc\n"                              \
      "hint #34\n"                                    \
      "adrp x16, vramscope_slot_" #symbol             \
      "\n"                                            \
      "ldr x16, [x16, #:lo12:vramscope_slot_" #symbol \
      "]\n"                                           \
      "br x16\n"                                      \
      ".cfi_endproc\n"                                \
      ".size " #symbol ", . - " #symbol "\n");
#else
// Defines `symbol`, with the given label lines, as a jump to the address in
// vramscope_slot_<symbol>. A patcher that does not know addressing relative to rip cannot move such
// a jump, so 14 bytes precede it, as a compiler would write them: they save two registers, reserve
// stack and restore everything. Arguments, including those on the stack, stay where the caller put
// them.
#define VRAMSCOPE_ENTRY(symbol, labels)         \
  asm(".text\n"                                 \
      ".p2align 4\n" labels                     \
      ".cfi_startproc\n"                        \
      "push %rbp\n"                             \
      ".cfi_def_cfa_offset 16\n"                \
      ".cfi_offset rbp, -16\n"                  \
      "mov %rsp, %rbp\n"                        \
      ".cfi_def_cfa_register rbp\n"             \
      "push %r12\n"                             \
      "push %rbx\n"                             \
      ".byte 0x48, 0x81, 0xec, 0x10, 0, 0, 0\n" \
      "leave\n"                                 \
      ".cfi_def_cfa rsp, 8\n"                   \
      ".cfi_restore rbp\n"                      \
      "jmp *vramscope_slot_" #symbol            \
      "(%rip)\n"                                \
      ".cfi_endproc\n"                          \
      ".size " #symbol ", . - " #symbol "\n");
#endif
