// The functions here answer the questions that views ask of a report, as numbers: what made the
// peak, what is still allocated, what the cache saved.
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
  std::uint64_t whole = 0;  // that it is a share of
};

// By bytes, the largest first; empty shares are left out. The peaks of two kinds or devices are of
// different instants: a share of the peak is one of its own kind and device's; what is alive is of
// one instant, and a share of it one of everything.
[[nodiscard]] std::vector<Share> shares_of_peak(const Report& report);
[[nodiscard]] std::vector<Share> shares_alive(const Report& report);
// What sites hold, or ever allocated, as their numbers have it: shares of one kind and device's.
[[nodiscard]] std::vector<Share> shares_live(const Report& report);
[[nodiscard]] std::vector<Share> shares_in_all(const Report& report);

// Kinds that hold memory, the highest peak first.
[[nodiscard]] std::vector<KindFacts> kinds_by_peak(const Report& report);

// The kind of this name, or of what people say for it ("gpu", "async"), if it is one; and those
// words.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);
[[nodiscard]] std::vector<std::string_view> words_for_kinds();

// Counters of the allocator that served plain memory of a device; null: of other kinds, and where
// it served nothing.
[[nodiscard]] const DeviceStatistics* statistics_of(const Report& report, const KindFacts& kind);

// Bytes of one kind, all owners and devices.
struct KindBytes {
  std::uint64_t current = 0;
  std::uint64_t peak = 0;
  std::uint64_t calls = 0;
};
[[nodiscard]] KindBytes bytes_of(const Report& report, Kind kind);

// The report's device with that number; null: it has none.
[[nodiscard]] const DeviceReport* find_device(const Report& report, unsigned index);

}  // namespace vramscope
