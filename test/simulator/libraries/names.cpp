// Each name that a library exports and that its stand-in does not define otherwise: success, and
// nothing is done. VRAMSCOPE_NAMES is the library's list.
// SPDX-License-Identifier: Apache-2.0
extern "C" {

static int accept() { return 0; }

#define NAME(function) __attribute__((weak, alias("accept"), visibility("default"))) int function();
#include VRAMSCOPE_NAMES
#undef NAME

}  // extern "C"
