// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/redirect/first_call.h"

#include <cstring>

namespace vramscope::simulator {
namespace {

template <typename Number>
std::byte* put(std::byte* at, Number number) {
  std::memcpy(at, &number, sizeof number);
  return at + sizeof number;
}

}  // namespace

#ifdef __aarch64__

namespace {

// ldr xN, of what lies `distance` bytes on, less than 1 MiB.
constexpr std::uint32_t load(std::uint32_t into, std::int64_t distance) {
  return 0x58000000U | ((static_cast<std::uint32_t>(distance / 4) & 0x7ffffU) << 5) | into;
}
constexpr std::uint32_t kBranchToX16 = 0xd61f0200U;

}  // namespace

void write_jump(std::byte* at, const std::byte* target) {
  put(at, 0x14000000U | (static_cast<std::uint32_t>((target - at) / 4) & 0x3ffffffU));
  __builtin___clear_cache(reinterpret_cast<char*>(at), reinterpret_cast<char*>(at + kJumpBytes));
}

// ldr x15, functions; ldr x16, vramscope_first_call; br x16
void write_first_call(std::byte* at, const void* functions) {
  at = put(at, load(15, 16));
  at = put(at, load(16, 20));
  at = put(at, kBranchToX16);
  at = put(at, std::uint32_t{0});
  at = put(at, functions);
  put(at, &vramscope_first_call);
}

// ldr x16, slot; br x16; movz w17, number; ldr x16, first_call; br x16
const std::byte* write_piece(std::byte* at, std::uint32_t number, const void* slot,
                             const std::byte* first_call) {
  at = put(at, load(16, static_cast<const std::byte*>(slot) - at));
  at = put(at, kBranchToX16);
  const std::byte* const unknown = at;
  at = put(at, 0x52800011U | (number << 5));
  at = put(at, load(16, 12));
  at = put(at, kBranchToX16);
  at = put(at, std::uint32_t{0});
  put(at, first_call);
  return unknown;
}

__asm__(R"(
.text
.p2align 4
.globl vramscope_first_call
.hidden vramscope_first_call
.type vramscope_first_call, %function
vramscope_first_call:
  .cfi_startproc
  hint 34
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset x29, -224
  .cfi_offset x30, -216
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x15
  mov x1, x17
  bl vramscope_resolve
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
.size vramscope_first_call, . - vramscope_first_call
)");

#else

namespace {

std::int32_t distance(const std::byte* next, const void* target) {
  return static_cast<std::int32_t>(static_cast<const std::byte*>(target) - next);
}

}  // namespace

void write_jump(std::byte* at, const std::byte* target) {
  put(put(at, std::uint8_t{0xe9}), distance(at + kJumpBytes, target));
}

// mov r11, functions; push r11; mov r11, vramscope_first_call; jmp r11
void write_first_call(std::byte* at, const void* functions) {
  constexpr std::uint16_t kMoveR11 = 0xbb49;
  at = put(put(at, kMoveR11), functions);
  at = put(at, std::uint16_t{0x5341});
  at = put(put(at, kMoveR11), &vramscope_first_call);
  put(put(at, std::uint16_t{0xff41}), std::uint8_t{0xe3});
}

// jmp [slot]; push number; jmp first_call
const std::byte* write_piece(std::byte* at, std::uint32_t number, const void* slot,
                             const std::byte* first_call) {
  at = put(at, std::uint16_t{0x25ff});
  at = put(at, distance(at + 4, slot));
  const std::byte* const unknown = at;
  at = put(put(at, std::uint8_t{0x68}), number);
  at = put(at, std::uint8_t{0xe9});
  put(at, distance(at + 4, first_call));
  return unknown;
}

// On the stack are the functions, the number, and where the caller goes on.
__asm__(R"(
.text
.p2align 4
.globl vramscope_first_call
.hidden vramscope_first_call
.type vramscope_first_call, @function
vramscope_first_call:
  .cfi_startproc
  .cfi_def_cfa_offset 24
  subq $200, %rsp
  .cfi_def_cfa_offset 224
  movq %rax, (%rsp)
  movq %rdi, 8(%rsp)
  movq %rsi, 16(%rsp)
  movq %rdx, 24(%rsp)
  movq %rcx, 32(%rsp)
  movq %r8, 40(%rsp)
  movq %r9, 48(%rsp)
  movq %r10, 56(%rsp)
  movaps %xmm0, 64(%rsp)
  movaps %xmm1, 80(%rsp)
  movaps %xmm2, 96(%rsp)
  movaps %xmm3, 112(%rsp)
  movaps %xmm4, 128(%rsp)
  movaps %xmm5, 144(%rsp)
  movaps %xmm6, 160(%rsp)
  movaps %xmm7, 176(%rsp)
  movq 200(%rsp), %rdi
  movq 208(%rsp), %rsi
  call vramscope_resolve
  movq %rax, %r11
  movq (%rsp), %rax
  movq 8(%rsp), %rdi
  movq 16(%rsp), %rsi
  movq 24(%rsp), %rdx
  movq 32(%rsp), %rcx
  movq 40(%rsp), %r8
  movq 48(%rsp), %r9
  movq 56(%rsp), %r10
  movaps 64(%rsp), %xmm0
  movaps 80(%rsp), %xmm1
  movaps 96(%rsp), %xmm2
  movaps 112(%rsp), %xmm3
  movaps 128(%rsp), %xmm4
  movaps 144(%rsp), %xmm5
  movaps 160(%rsp), %xmm6
  movaps 176(%rsp), %xmm7
  addq $216, %rsp
  .cfi_def_cfa_offset 8
  jmp *%r11
  .cfi_endproc
.size vramscope_first_call, . - vramscope_first_call
)");

#endif

}  // namespace vramscope::simulator
