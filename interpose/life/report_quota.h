// ReportQuota limits the reports for signals, so that a storm of signals does not fill the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// It applies only to reports by signal; those at exit and before exec are always written. Threads:
// one.
class ReportQuota {
 public:
  static constexpr std::size_t kMostInASecond = 10;
  static constexpr std::uint64_t kMostInAll = 1000;
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  // Returns how long the next report must wait, in nanoseconds: 0, up to a second, or kForever.
  // `now_ns` never falls.
  [[nodiscard]] std::uint64_t held_back_ns(std::uint64_t now_ns) const noexcept {
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    if (given_ >= kMostInAll) return kForever;
    const std::uint64_t since = now_ns - times_ns_[given_ % kMostInASecond];  // the tenth before
    return given_ < kMostInASecond || since >= kSecondNs ? 0 : kSecondNs - since;
  }
  // Counts a report that is written.
  void count(std::uint64_t now_ns) noexcept { times_ns_[given_++ % kMostInASecond] = now_ns; }

 private:
  std::array<std::uint64_t, kMostInASecond> times_ns_{};
  std::uint64_t given_ = 0;
};

}  // namespace vramscope
