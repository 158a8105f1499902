// Plays the traces of the benchmark over pages that grow, beside the other ways to get memory, and
// prints how much is reserved and what the driver is asked: a table of README.md.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/endless_backend.h"
#include "test/bench/traces.h"

namespace vramscope::bench {
namespace {

// What a driver would be asked is counted.
class Counting : public EndlessBackend {
 public:
  struct Calls {
    std::uint64_t segments = 0;  // cuMemAlloc and cuMemFree
    std::uint64_t maps = 0;      // cuMemCreate with cuMemMap
    std::uint64_t unmaps = 0;    // cuMemUnmap
    std::uint64_t grants = 0;    // cuMemSetAccess
  };
  using EndlessBackend::EndlessBackend;
  Grant reserve(Place where, std::size_t bytes) noexcept override {
    ++calls.segments;
    return EndlessBackend::reserve(where, bytes);
  }
  Reply release(Place, Address) noexcept override {
    ++calls.segments;
    return {};
  }
  Grant reserve_addresses(Place where, std::uint64_t bytes, std::uint64_t) noexcept override {
    return EndlessBackend::reserve(where, bytes);
  }
  Grant map(Place, Address address, std::uint64_t bytes, std::uint64_t page) noexcept override {
    ++calls.grants;
    calls.maps += bytes / page;
    return {.status = {}, .address = address};
  }
  Reply unmap(Place, Address, std::uint64_t bytes, std::uint64_t page) noexcept override {
    calls.unmaps += bytes / page;
    return {};
  }

  Calls calls;
};

struct Setting {
  const char* name;
  Limits limits;
};

// The least of some further passes.
double ns_of_a_pair(CachingAllocator& allocator, const Trace& trace) {
  constexpr int kPasses = 5;
  double least = 0;
  for (int i = 0; i < kPasses; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pass(allocator, trace);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (i == 0 || took.count() < least) least = took.count();
  }
  return least / static_cast<double>(trace.pairs);
}

void play(const Trace& trace, const Setting& setting) {
  Counting backend(80ull << 30);
  CachingAllocator allocator(backend, setting.limits);
  const auto pairs = static_cast<double>(trace.pairs);
  std::array<std::string, 2> calls;
  for (std::string& text : calls) {
    backend.calls = {};
    pass(allocator, trace);
    const Counting::Calls& c = backend.calls;
    for (const std::uint64_t count : {c.segments, c.maps, c.grants, c.unmaps}) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), " %.0f |",
                    1000 * static_cast<double>(count) / pairs);
      text += number.data();
    }
  }
  DeviceStatistics counted;
  if (!allocator.read_statistics(0, counted)) return;
  const double reserved =
      static_cast<double>(counted.reserved_bytes.all.peak) / static_cast<double>(trace.peak_bytes);
  std::printf("| %s | %s | %.3f |%s%s %.0f |\n", trace.name.c_str(), setting.name, reserved,
              calls[0].c_str(), calls[1].c_str(), ns_of_a_pair(allocator, trace));
}

void play_all() {
  const Setting settings[] = {{"pytorch", {}},
                              {"expandable_segments", {.expandable_segments = true}},
                              {"growing_segments", {.growing_segments = true}}};
  const std::vector<Trace> traces = {ping_pong("same 1 MiB", 1 << 20, 10000),
                                     ping_pong("same 64 MiB", 64 << 20, 10000),
                                     ramp("ramp 1,000", 1000, 8ull << 30),
                                     ramp("ramp 10,000", 10000, 60ull << 30),
                                     steady("1,000 live", 1000, 20000, 8ull << 30),
                                     steady("10,000 live", 10000, 40000, 40ull << 30),
                                     training("training", 12),
                                     training("training, lengths close", 12, Lengths::close),
                                     training("training, lengths vary", 12, Lengths::varying)};
  std::printf(
      "| trace | setting | reserved / requested | calls in 1,000 pairs at first: segments | pages "
      "mapped | access given | pages unmapped | later: segments | mapped | access | unmapped | ns "
      "a "
      "pair |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Trace& trace : traces) {
    for (const Setting& setting : settings) play(trace, setting);
  }
}

}  // namespace
}  // namespace vramscope::bench

int main() { vramscope::bench::play_all(); }
