// Gives each thread its own generator.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/sampling.h"

#include <cstdint>
#include <ctime>

namespace vramscope {

namespace {

__attribute__((tls_model("initial-exec"))) thread_local constinit Chance chance{0};
__attribute__((tls_model("initial-exec"))) thread_local constinit bool seeded = false;

}  // namespace

Sampling choose(std::uint64_t bytes, std::uint64_t every) noexcept {
  if (!seeded) [[unlikely]] {
    // Threads that do the same at the same time must not make equal choices.
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    chance = Chance((reinterpret_cast<std::uintptr_t>(&chance) + 1) * 0x9e3779b97f4a7c15ULL ^
                    static_cast<std::uint64_t>(now.tv_nsec));
    seeded = true;
  }
  return chance.takes(bytes, every) ? Sampling::taken : Sampling::left_out;
}

}  // namespace vramscope
