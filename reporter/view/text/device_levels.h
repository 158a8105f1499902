// Levels are the lines that show how high a kind of memory of a GPU rose, with a bar.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

inline constexpr std::size_t kBarCells = 24;

// A GPU whose memory was asked for, and the kinds besides plain device memory that it held.
struct UsedDevice {
  std::uint16_t index = 0;
  const DeviceReport* report = nullptr;  // nullptr: nothing else is known of it
  bool adds_peaks = false;               // of several processes
  std::vector<KindFacts> others = {};    // the highest peak first
  std::optional<GpuPeaks> use = {};      // nothing: not known of what a filter left
};

// As the program saw it; 0: unknown, or nothing to compare sums of peaks with, which may be more.
[[nodiscard]] std::uint64_t capacity(const UsedDevice& device);

// Columns of the names of a GPU's levels.
[[nodiscard]] std::size_t name_cells_of(const UsedDevice& device);

// "reserved   peak 1.25 GiB  [####....]   0.9 % of 139 GiB, now 0 B".
[[nodiscard]] std::string level_text(const UsedDevice& device, const std::string& name,
                                     std::size_t name_cells, std::optional<std::uint64_t> peak,
                                     std::int64_t now, const Page& page);

// A line, "used  up to 7.41 GiB  [##....]  5.3 % of 139 GiB, with 1.91 GiB of contexts and code",
// or, if contexts and code were not measured, "used at least 5.50 GiB of 139 GiB: ..."; none: not
// known. `whose`: "GPU 1  ".
void add_used_level(Document& text, const UsedDevice& device, std::size_t name_cells,
                    const std::string& whose, const Page& page);

// ", 5.44 GiB to 5.50 GiB reserved", behind what all kinds had requested; "": not known.
[[nodiscard]] std::string reserved_words(const UsedDevice& device);

}  // namespace vramscope
