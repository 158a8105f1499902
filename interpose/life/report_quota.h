// ReportQuota says whether a signal may have a report: a storm of signals fills no disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// For reports by signal only: those at exit and before exec are always written. Threads: one.
class ReportQuota {
 public:
  static constexpr std::size_t kMostInASecond = 10;
  static constexpr std::uint64_t kMostInAll = 1000;
  enum class Answer : std::uint8_t { yes, too_many_in_a_second, too_many_in_all };

  // Counts when the answer is yes. `now_ns` never falls.
  [[nodiscard]] Answer ask(std::uint64_t now_ns) noexcept {
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    if (given_ >= kMostInAll) return Answer::too_many_in_all;
    std::uint64_t& tenth_before = times_ns_[given_ % kMostInASecond];
    if (given_ >= kMostInASecond && now_ns - tenth_before < kSecondNs) {
      return Answer::too_many_in_a_second;
    }
    tenth_before = now_ns;
    ++given_;
    return Answer::yes;
  }

 private:
  std::array<std::uint64_t, kMostInASecond> times_ns_{};
  std::uint64_t given_ = 0;
};

}  // namespace vramscope
