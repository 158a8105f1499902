// Each name that a library exports and that its stand-in does not define otherwise: success, and
// nothing is done, or "not supported". VRAMSCOPE_NAMES is the library's list.
// SPDX-License-Identifier: Apache-2.0
// Aliases are declared without what the compiler finds out about these two.
#pragma GCC diagnostic ignored "-Wmissing-attributes"

extern "C" {

static int accept() { return 0; }
[[maybe_unused]] static int refuse() { return VRAMSCOPE_NOT_SUPPORTED; }

#define NAME(function) __attribute__((weak, alias("accept"), visibility("default"))) int function();
#define UNSUPPORTED(function) \
  __attribute__((weak, alias("refuse"), visibility("default"))) int function();
#include VRAMSCOPE_NAMES
#undef UNSUPPORTED
#undef NAME

}  // extern "C"
