// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/real.h"

#include <dlfcn.h>

#include <atomic>

#include "allocator/base/own_stack.h"
#include "interpose/loader/loader.h"

namespace vramscope {

// Constant-initialised, because wrappers may run before our constructor.
constinit std::atomic<const Real*> known_driver{nullptr};
constinit const Real no_driver;

namespace {

constinit Real pending;
constinit std::atomic_flag loading = ATOMIC_FLAG_INIT;

}  // namespace

bool driver_is_complete() noexcept {
  const Real& driver = real();
  bool complete = driver.cuMemAlloc_v2 != nullptr && driver.cuMemFree_v2 != nullptr &&
                  driver.cuMemGetInfo_v2 != nullptr && driver.cuDevicePrimaryCtxRetain != nullptr &&
                  driver.cuDevicePrimaryCtxRelease_v2 != nullptr &&
                  driver.cuCtxSynchronize != nullptr;
#define X(symbol) complete = complete && driver.symbol != nullptr;
  VRAMSCOPE_USED_FUNCTIONS(X)
#undef X
  return complete;
}

bool driver_has(Function function) noexcept {
  const Real& driver = real();
  switch (function) {
#define DRIVER_FUNCTION(symbol, ...) \
  case Function::symbol:             \
    return driver.symbol != nullptr;
#include "interpose/table/functions.def"
  }
  return false;
}

std::string missing_functions(int driver_version) {
  std::string names;
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    const FunctionRow& row = kFunctions[i];
    if (driver_has(static_cast<Function>(i)) || row.since > driver_version ||
        row.kind == Kind::graphics)
      continue;
    names += (names.empty() ? "" : ", ") + std::string(row.symbol);
  }
  return names;
}

namespace {

template <class Pointer>
void find(DriverFunction<Pointer>& function, void* driver, const char* symbol) noexcept {
  function = DriverFunction<Pointer>(reinterpret_cast<Pointer>(real_dlsym(driver, symbol)));
}

// Fills the pointers once.
void load_real(void* handle) noexcept {
  if (known_driver.load(std::memory_order_acquire) != nullptr) return;
  leaving::prepare();
  Real fresh;  // looked up without a lock of ours, since the loader has locks of its own
#define DRIVER_FUNCTION(symbol, ...) find(fresh.symbol, handle, #symbol);
#include "interpose/table/functions.def"
#define X(symbol) find(fresh.symbol, handle, #symbol);
  VRAMSCOPE_USED_FUNCTIONS(X)
  VRAMSCOPE_USED_IF_THERE(X)
#undef X
  fresh.vramscope_simulated_launches =
      reinterpret_cast<decltype(fresh.vramscope_simulated_launches)>(
          real_dlsym(handle, "vramscope_simulated_launches"));
  fresh.vramscope_simulated_shared = reinterpret_cast<decltype(fresh.vramscope_simulated_shared)>(
      real_dlsym(handle, "vramscope_simulated_shared"));
  dlerror();  // missing functions must not appear as the program's error
  if (loading.test_and_set(std::memory_order_acq_rel)) {
    while (known_driver.load(std::memory_order_acquire) ==
           nullptr) {  // the other thread is only copying
    }
    return;
  }
  pending = fresh;
  known_driver.store(&pending, std::memory_order_release);
}

}  // namespace

// Keeps the driver mapped (NODELETE), so that our pointers stay valid if the program closes it, as
// ffmpeg does.
bool find_mapped_driver(const char* file) noexcept {
  bool found = false;
  own_stack::run([&] {
    void* handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle == nullptr) return;
    load_real(handle);
    dlclose(handle);
    found = true;
  });
  return found;
}

}  // namespace vramscope
