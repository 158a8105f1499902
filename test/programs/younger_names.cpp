// Asks for functions of a CUDA version that is younger than the headers: some changed parameters.
// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "test/programs/by_name.h"

static constexpr int kYounger = 13010;

using Ask = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static void* find(Ask* ask, const char* name, int version) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult code = ask(name, &found, version, 0, &status);
  std::printf("%s at %d: %d, %s\n", name, version, static_cast<int>(code),
              found != nullptr ? "found" : "none");
  return found;
}

int main() {
  open_driver();
  auto ask = reinterpret_cast<Ask*>(dlsym(driver, "cuGetProcAddress_v2"));
  if (ask == nullptr) return 3;
  for (const char* name : {"cuMemAlloc", "cuMulticastBindMem", "cuGraphInstantiate"}) {
    void* known = find(ask, name, 12010);
    void* young = find(ask, name, kYounger);
    std::printf("the same function: %d\n", young == known);
  }
  void* own = find(ask, "cuGraphInstantiateWithFlags", 12000);
  std::printf("the same function: %d\n", own == find(ask, "cuGraphInstantiate", 12000));
  CALL(cuInit, 0u);
}
