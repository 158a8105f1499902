// recovery_stress [--seconds N]: processes stop at every instruction of some calls, and what their
// live files say of them is judged; also chosen as the test of the faults of live files.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "allocator/base/fault.h"
#include "test/allocator/recovered_program.h"

namespace vramscope::test {
namespace {

void choose_fault() {
#ifdef VRAMSCOPE_FAULTS
  const char* name = std::getenv("VRAMSCOPE_FAULT");
#define FAULT(one, text) \
  if (name && std::strcmp(name, #one) == 0) chosen_fault = Fault::one;
#include "allocator/base/faults.def"
#endif
}

int run(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  unsigned long instructions = 0, calls = 0;
  unsigned seed = 0;
  while (elapsed() < seconds) {
    const RecoveryMode& mode = kRecoveryModes[++seed % std::size(kRecoveryModes)];
    DyingProcess process(mode.limits);
    const unsigned stepped = 4;
    std::string wrong = process.step(seed, stepped, 5 + seed % 97);
    if (wrong.empty()) wrong = process.kill_after(seed, seed * 7919 % 3'000'000);
    instructions += process.instructions();
    calls += stepped;
    if (wrong.empty()) continue;
    std::printf("%s\n", wrong.c_str());
    // As test/differential/faults.py reads it.
    std::printf("found: seed %u, %lu calls, %.1f seconds, in %s: %s\n", seed, calls, elapsed(),
                mode.name, wrong.c_str());
    return 1;
  }
  std::printf("%u processes, %lu calls, %lu instructions, each recovered\n", seed, calls,
              instructions);
  return 0;
}

}  // namespace
}  // namespace vramscope::test

int main(int argc, char** argv) {
  const bool has_seconds = argc == 3 && std::strcmp(argv[1], "--seconds") == 0;
  vramscope::test::choose_fault();
  return vramscope::test::run(has_seconds ? std::atof(argv[2]) : 2);
}
