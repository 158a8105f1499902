// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/missing_call.h"

#include <dlfcn.h>

namespace vramscope::simulator {

// Looked up each time: such calls are rare, and the driver may come later than this library.
void tell_missing(const char* function) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return;
  void* const tell = dlsym(driver, "vramscope_simulated_missing");
  if (tell != nullptr) reinterpret_cast<void (*)(const char*)>(tell)(function);
  dlclose(driver);
}

}  // namespace vramscope::simulator
