// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/leaving.h"

#include <cxxabi.h>
#include <unwind.h>

namespace vramscope {

constinit thread_local volatile std::uintptr_t guard_mark = 0;
constinit thread_local std::atomic<std::size_t> guard_due{0};

namespace leaving {
namespace {

constinit thread_local void* stopped = nullptr;

// The exceptions that this thread has caught, in the C++ runtime that is linked into this library:
// the first member of __cxa_eh_globals (Itanium C++ ABI, exception handling, 2.2.2). While it is
// null, the end of a handler destroys nothing; glibc would otherwise abort the process ("exception
// not rethrown"). Once it is restored, a rethrow continues the unwinding.
void*& caught() noexcept { return *reinterpret_cast<void**>(abi::__cxa_get_globals()); }

}  // namespace

void prepare() noexcept {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

void stop() {
  if (guard_mark == 0) throw;
  stopped = caught();
  caught() = nullptr;
  guard_due.fetch_or(kThreadLeaves, std::memory_order_relaxed);
}

void go_on() {
  guard_due.fetch_and(~kThreadLeaves, std::memory_order_relaxed);
  caught() = stopped;
  throw;
}

}  // namespace leaving
}  // namespace vramscope
