// The backend under the naive model when golden traces judge it: their rule, plainly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "allocator/base/backend.h"

namespace vramscope {

// A bump pointer that only grows, one account of exact bytes, one planned failure. Threads: one.
class PlainBackend : public Backend {
 public:
  explicit PlainBackend(std::uint64_t capacity) : capacity_(capacity) {}

  Grant reserve(Place, std::size_t bytes) noexcept override {
    ++calls;
    const bool is_planned = fail_in_ > 0 && --fail_in_ == 0;
    if (is_planned || live_bytes + bytes > capacity_) return {{Result::out_of_memory, 2}};
    const Address address = next_;
    next_ += (bytes + kGrain - 1) / kGrain * kGrain;
    live_bytes += bytes;
    live[address] = bytes;
    return {.status = {}, .address = address};
  }
  Reply release(Place, Address segment) noexcept override {
    const auto found = live.find(segment);
    if (found == live.end()) return {{Result::invalid, 1}};
    live_bytes -= found->second;
    live.erase(found);
    return {};
  }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return capacity_; }

  void fail_call(std::uint64_t nth) { fail_in_ = nth; }  // 1: the next reserve; 0: none

  std::map<Address, std::uint64_t> live;
  std::uint64_t live_bytes = 0;
  std::uint64_t calls = 0;

 private:
  static constexpr Address kFirst = 0x7f0000000000;
  static constexpr std::uint64_t kGrain = 2 << 20;
  std::uint64_t capacity_;
  Address next_ = kFirst;
  std::uint64_t fail_in_ = 0;
};

}  // namespace vramscope
