// Access to the dynamic loader behind us: the next dlsym, and the next definition of a function
// that this library exports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "allocator/base/kept_errno.h"

namespace vramscope {

// Calls the next dlsym behind ours, found on first use: that of the C library, or of another
// library that overrides it.
// Threads: any.
[[nodiscard]] void* real_dlsym(void* handle, const char* name) noexcept;

// Finds the next dlsym now, for the gate of lookup_gate_*.S, which jumps there. Threads: any.
void find_real_dlsym() noexcept;

// Returns the C library's dlsym. real_dlsym calls those of libraries in between.
[[nodiscard]] const void* dlsym_of_c_library() noexcept;

// Whether `file` names a CUDA driver: libcuda.so, libcuda.so.1, libcuda.so.580.65.06 ... False for
// null.
[[nodiscard]] bool is_driver_file(const char* file) noexcept;

// Returns the definition of `name` in a library that is already mapped under the name `file`, or in
// one that it needs; null if there is none. Leaves no error for dlerror().
[[nodiscard]] void* symbol_of_mapped(const char* file, const char* name) noexcept;

// Returns the definition of `name` behind ours in search order (RTLD_NEXT seen from this library),
// or null.
template <class F>
[[nodiscard]] F* next_definition(F*, const char* name) noexcept {
  return reinterpret_cast<F*>(real_dlsym(reinterpret_cast<void*>(-1L), name));  // RTLD_NEXT
}

// The same for a function that a program may call where the loader must not be asked: in a signal
// handler, and in a child of clone() or _Fork(), in which the loader's lock may be held for ever.
// Call find_now() before the program starts. Threads: any.
template <class F>
class NextDefinition {
 public:
  constexpr explicit NextDefinition(const char* name) : name_(name) {}
  [[nodiscard]] F* get() noexcept {
    F* function = found_.load(std::memory_order_acquire);
    if (function == nullptr) [[unlikely]] {
      function = next_definition<F>(nullptr, name_);
      found_.store(function, std::memory_order_release);
    }
    return function;
  }

 private:
  const char* const name_;
  std::atomic<F*> found_{nullptr};
};

// Finds all of them now. Keeps errno.
template <class... F>
void find_now(NextDefinition<F>&... functions) noexcept {
  const KeptErrno kept;
  (static_cast<void>(functions.get()), ...);
}

}  // namespace vramscope
