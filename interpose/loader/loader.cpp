// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/loader.h"

#include <dlfcn.h>

#include <cstring>

#include "allocator/base/own_stack.h"

using DlsymPointer = void* (*)(void*, const char*);

extern "C" {
// lookup_gate_*.S jumps through this pointer.
__attribute__((visibility("hidden"))) constinit DlsymPointer vramscope_real_dlsym = nullptr;
}

namespace vramscope {
namespace {

// The symbol versions of dlsym: glibc 2.34 and newer, and x86-64 and aarch64 before that.
constexpr const char* kDlsymVersions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};

constinit std::atomic<const void*> c_library_dlsym{nullptr};

DlsymPointer next_dlsym() noexcept {
  DlsymPointer found = __atomic_load_n(&vramscope_real_dlsym, __ATOMIC_ACQUIRE);
  if (found != nullptr) return found;
  for (const char* version : kDlsymVersions) {
    found = reinterpret_cast<DlsymPointer>(dlvsym(RTLD_NEXT, "dlsym", version));
    if (found != nullptr) break;
  }
  c_library_dlsym = reinterpret_cast<const void*>(found);
  // Another preloaded library behind us may override dlsym as well, without a version.
  if (void* next = found(RTLD_NEXT, "dlsym")) found = reinterpret_cast<DlsymPointer>(next);
  __atomic_store_n(&vramscope_real_dlsym, found, __ATOMIC_RELEASE);
  return found;
}

}  // namespace

void* real_dlsym(void* handle, const char* name) noexcept { return next_dlsym()(handle, name); }

void find_real_dlsym() noexcept { static_cast<void>(next_dlsym()); }

const void* dlsym_of_c_library() noexcept {
  find_real_dlsym();
  return c_library_dlsym.load(std::memory_order_relaxed);
}

void* symbol_of_mapped(const char* file, const char* name) noexcept {
  void* found = nullptr;
  own_stack::run([&] {
    void* const handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle != nullptr) {
      found = real_dlsym(handle, name);
      dlclose(handle);
    }
    dlerror();
  });
  return found;
}

bool is_driver_file(const char* file) noexcept {
  if (file == nullptr) return false;
  const char* slash = std::strrchr(file, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : file, "libcuda.so", 10) == 0;
}

}  // namespace vramscope
