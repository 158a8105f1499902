// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/late_driver.h"

#include <dlfcn.h>

#include "allocator/base/kept_errno.h"
#include "allocator/base/own_stack.h"
#include "interpose/loader/loader.h"

namespace vramscope {
namespace {

constinit thread_local bool is_calling = false;

// Returns where the file that contains the address is mapped; null: nowhere.
void* base_of(const void* address) noexcept {
  Dl_info file{};
  return dladdr(address, &file) != 0 ? file.dli_fbase : nullptr;
}

// Returns the definition in the caller's library, or in one that it needs.
void* in_library_of(const void* caller, const char* name) noexcept {
  Dl_info file{};
  if (dladdr(caller, &file) == 0 || file.dli_fname == nullptr) return nullptr;
  return symbol_of_mapped(file.dli_fname, name);
}

}  // namespace

LateDriver::LateDriver(const char* name, const void* caller) noexcept {
  if (is_calling) return;
  const KeptErrno kept;
  own_stack::run([&] {
    const void* const ours = base_of(reinterpret_cast<const void*>(&in_library_of));
    const auto unless_ours = [ours](void* function) {
      return function == nullptr || base_of(function) == ours ? nullptr : function;
    };
    found_ = unless_ours(in_library_of(caller, name));
    if (found_ == nullptr)
      found_ = unless_ours(reinterpret_cast<void*>(next_definition<void()>(nullptr, name)));
    dlerror();  // a missing function must not appear as the program's error
  });
  is_calling = found_ != nullptr;
}

LateDriver::~LateDriver() {
  if (found_ != nullptr) is_calling = false;
}

}  // namespace vramscope
