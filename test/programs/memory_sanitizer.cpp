// What tells a program that is compiled with -fsanitize=memory from others.
// SPDX-License-Identifier: Apache-2.0
extern "C" [[gnu::visibility("default"), gnu::used]] void __msan_init() {}
