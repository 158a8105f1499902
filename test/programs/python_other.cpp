// Looks like an interpreter to whoever asks the loader, but is none that anybody knows, or is one
// whose structures are nonsense. Argument: unknown, or wild and a seed.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <string_view>

#include "test/programs/driver.h"

namespace {

std::mt19937_64 chance;
alignas(64) std::uint64_t nonsense[1 << 12];

// Null, a small number, anywhere, or into the nonsense.
std::uint64_t wild() {
  switch (chance() % 8) {
    case 0:
      return 0;
    case 1:
      return chance() % 4096;
    case 2:
      return chance();
    case 3:
      return chance() % (std::uint64_t{1} << 47);
    default:
      return reinterpret_cast<std::uintptr_t>(nonsense) + chance() % sizeof nonsense;
  }
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern unsigned long Py_Version;
__attribute__((visibility("default"))) extern std::uint64_t _PyRuntime[64];
__attribute__((visibility("default"))) extern std::uint64_t PyCode_Type[64];
__attribute__((visibility("default"))) void* PyGILState_GetThisThreadState();
__attribute__((visibility("default"))) void _PyEval_EvalFrameDefault();

unsigned long Py_Version = 0x03630000;
std::uint64_t _PyRuntime[64];
std::uint64_t PyCode_Type[64];
void* PyGILState_GetThisThreadState() { return reinterpret_cast<void*>(wild()); }
void _PyEval_EvalFrameDefault() { MUST(cuMemFree(allocate(kMiB))); }
}

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "wild") Py_Version = 0x030b02f0;
  if (count > 2) chance.seed(static_cast<std::uint64_t>(std::atoll(arguments[2])));
  start();
  for (int turn = 0; turn < 2000; ++turn) {
    for (std::uint64_t& word : nonsense) {
      word = chance() % 4 == 0 ? reinterpret_cast<std::uintptr_t>(PyCode_Type) : wild();
    }
    _PyRuntime[5] = chance() % 4 == 0 ? wild() : 0;
    _PyRuntime[3] = chance() % 4 == 0 ? wild() : 0;
    _PyEval_EvalFrameDefault();
  }
  std::printf("done\n");
}
