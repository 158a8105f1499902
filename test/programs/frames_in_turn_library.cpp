// Opened by `frames_in_turn`: a function with a frame of FRAME_BYTES, and the same code but for
// that.
// SPDX-License-Identifier: Apache-2.0

#ifdef __x86_64__
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
__asm__(".globl call_through\n"
        ".type call_through, @function\n"
        "call_through:\n"
        ".cfi_startproc\n"
        "sub $" TEXT(FRAME_BYTES) ", %rsp\n"
        ".cfi_adjust_cfa_offset " TEXT(FRAME_BYTES) "\n"
        "call *%rdi\n"
        "add $" TEXT(FRAME_BYTES) ", %rsp\n"
        ".cfi_adjust_cfa_offset -" TEXT(FRAME_BYTES) "\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_through, . - call_through\n");
#else
extern "C" __attribute__((visibility("default"))) void call_through(void (*function)()) {
  volatile char frame[FRAME_BYTES] = {};
  function();
  frame[0] = 1;
}
#endif
