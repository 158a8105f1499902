// A wrapper of puts by another author: finds the real one by dlsym(RTLD_NEXT).
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

static int calls;

// Which library the next definition is in. It would be this one if the lookup were made relative to
// another object than the caller.
EXPORT const char* describe_next_puts() {
  void* next = dlsym(RTLD_NEXT, "puts");
  Dl_info where{};
  if (next == nullptr || dladdr(next, &where) == 0) return "nowhere";
  return std::strstr(where.dli_fname, "libc.so") != nullptr ? "the C library" : where.dli_fname;
}

EXPORT int describe_calls() { return calls; }

EXPORT int puts(const char* text) {
  ++calls;
  auto next = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_NEXT, "puts"));
  return next(text);
}
