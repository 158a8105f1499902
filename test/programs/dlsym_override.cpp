// A preloaded library that overrides dlsym as well, as other interposers do.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

// A call, not a jump, as most are: good enough for names that are not looked up relative to the
// caller.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  using Dlsym = void*(void*, const char*);
  static Dlsym* const next = [] {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return reinterpret_cast<Dlsym*>(found);
  }();
  return next(handle, name);
}
