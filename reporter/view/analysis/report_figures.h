// shares_of_peak() and the other functions here answer the views' questions about a report as
// numbers: what made the peak, what is still allocated, what the cache saved.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {

// What one site holds of one kind of memory on one device. Bytes are requested bytes.
struct Share {
  std::size_t site = 0;  // index into Report::sites
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t whole = 0;  // the sum of which it is a share
};

// Return shares by bytes, the largest first, without empty ones. The peaks of two kinds or devices
// are at different instants, so a share of the peak is a share of its own kind and device. What is
// alive is from one instant, so its share is one of everything.
[[nodiscard]] std::vector<Share> shares_of_peak(const Report& report);
[[nodiscard]] std::vector<Share> shares_alive(const Report& report);
// Return what sites hold now, or ever allocated: shares of their own kind and device.
[[nodiscard]] std::vector<Share> shares_live(const Report& report);
[[nodiscard]] std::vector<Share> shares_in_all(const Report& report);

// Returns the kinds that hold memory, the highest peak first.
[[nodiscard]] std::vector<KindFacts> kinds_by_peak(const Report& report);

// kind_of() returns the kind with this name, or with one of the words that people use for it
// ("gpu", "async"); words_for_kinds() returns those words.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);
[[nodiscard]] std::vector<std::string_view> words_for_kinds();

// Returns the counters of the allocator that served plain memory of a device, or null for other
// kinds and if it served nothing.
[[nodiscard]] const DeviceStatistics* statistics_of(const Report& report, const KindFacts& kind);

// Bytes of one kind, over all owners and devices.
struct KindBytes {
  std::uint64_t current = 0;
  std::uint64_t peak = 0;
  std::uint64_t calls = 0;
};
[[nodiscard]] KindBytes bytes_of(const Report& report, Kind kind);

// Returns the report's device with that number, or null.
[[nodiscard]] const DeviceReport* find_device(const Report& report, unsigned index);

}  // namespace vramscope
