// A backend that costs nothing and refuses nothing: what is measured over it is the allocator, as
// it plays a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/traces.h"

namespace vramscope::bench {

// Addresses that only grow. Threads: one.
class EndlessBackend : public Backend {
 public:
  explicit EndlessBackend(std::uint64_t total_bytes) : total_bytes_(total_bytes) {}
  Grant reserve(Place, std::size_t bytes) noexcept override {
    const Grant grant{.status = {}, .address = next_};
    next_ += (bytes + kPage - 1) / kPage * kPage;
    return grant;
  }
  Reply release(Place, Address) noexcept override { return {}; }
  Grant reserve_addresses(Place where, std::uint64_t bytes, std::uint64_t) noexcept override {
    return reserve(where, bytes);
  }
  Grant map(Place, Address address, std::uint64_t, std::uint64_t) noexcept override {
    return {.status = {}, .address = address};
  }
  Reply unmap(Place, Address, std::uint64_t, std::uint64_t) noexcept override { return {}; }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return total_bytes_; }

 private:
  static constexpr std::uint64_t kPage = 2 << 20;
  Address next_ = 0x7f0000000000;
  std::uint64_t total_bytes_;
};

// Device memory for each step of a trace, and its end.
inline void pass(CachingAllocator& allocator, const Trace& trace) {
  std::vector<Address> held(trace.slots);
  for (const Step& step : trace.steps) {
    if (step.bytes == 0) {
      static_cast<void>(allocator.free(held[step.slot]));
    } else {
      held[step.slot] = allocator.allocate({.where = {}, .bytes = step.bytes}).address;
    }
  }
}

}  // namespace vramscope::bench
