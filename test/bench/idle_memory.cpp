// Plays the traces of the benchmark under both policies and with different caps of idle memory, and
// prints how often the driver is called and how much is reserved: the table of README.md.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/endless_backend.h"
#include "test/bench/traces.h"

namespace vramscope::bench {
namespace {

constexpr double kLeastDevice = 1 << 30;

struct Setting {
  const char* name;
  Limits limits;
};

// Of a second pass: what a program meets that has been running for a while.
void play(const Trace& trace, const Setting& setting, std::uint64_t device_bytes) {
  EndlessBackend backend(device_bytes);
  CachingAllocator allocator(backend, setting.limits);
  pass(allocator, trace);
  allocator.reset_peaks();
  allocator.reset_accumulated();
  pass(allocator, trace);
  DeviceStatistics counted;
  if (!allocator.read_statistics(0, counted)) return;
  const auto pairs = static_cast<double>(trace.pairs);
  const auto asked = static_cast<double>(counted.num_device_alloc);
  std::printf(
      "| %s | %s | %.1f %% | %.1f | %.2f | %.1f %% |\n", trace.name.c_str(), setting.name,
      100 * (pairs - asked) / pairs,
      1000 * (asked + static_cast<double>(counted.num_device_free)) / pairs,
      static_cast<double>(counted.reserved_bytes.all.peak) / static_cast<double>(trace.peak_bytes),
      100 * static_cast<double>(allocator.idle_bytes(0)) / static_cast<double>(device_bytes));
}

void play_all(double spare) {
  const Limits native{.policy = Policy::native_safe};
  const Limits expandable{.expandable_segments = true};
  std::vector<Setting> settings = {{"1/16", native}, {"1/8", native},
                                   {"1/4", native},  {"none", native},
                                   {"pytorch", {}},  {"pytorch, expandable", expandable}};
  const double shares[] = {1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0, 1.0, 1.0};
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i].limits.idle_share = shares[i];
  const std::vector<Trace> traces = {ping_pong("same 1 MiB", 1 << 20, 10000),
                                     ping_pong("same 64 MiB", 64 << 20, 10000),
                                     steady("1,000 live", 1000, 20000, 8ull << 30),
                                     steady("10,000 live", 10000, 40000, 40ull << 30),
                                     training("training", 12),
                                     training("training, lengths vary", 12, Lengths::varying)};
  std::printf(
      "| trace | cap | served from the cache | driver calls in 1,000 pairs | peak reserved / "
      "requested | idle at the end, of the device |\n|---|---|---|---|---|---|\n");
  for (const Trace& trace : traces) {
    for (const Setting& setting : settings) {
      const double needed = std::max(static_cast<double>(trace.peak_bytes), kLeastDevice / 2);
      play(trace, setting, static_cast<std::uint64_t>(needed * spare));
    }
  }
}

}  // namespace
}  // namespace vramscope::bench

// idle_memory [FACTOR]: the device has so many times what the trace needs at its peak (1.25).
int main(int argc, char** argv) {
  vramscope::bench::play_all(argc > 1 ? std::max(1.0, std::stod(argv[1])) : 1.25);
}
