// Plot draws columns of numbers as a filled area of characters, with numbers on both axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

#define VRAMSCOPE_SCALES(X) X(automatic) X(linear) X(log)
VRAMSCOPE_NAMED_ENUM(Scale, std::uint8_t, VRAMSCOPE_SCALES);
[[nodiscard]] std::optional<Scale> scale_of(std::string_view name);

// The vertical axis: `rows` steps from `bottom` up. Linear: bottom is 0, and each row `step` bytes;
// log: each row is 2^`step` times the one below.
struct BytesAxis {
  bool is_log = false;
  std::uint64_t bottom = 0;
  std::uint64_t step = 1;
  std::size_t rows = 8;

  [[nodiscard]] std::uint64_t top_of(std::size_t row) const;  // 0: the lowest; saturates
  // How many eighths of rows `bytes` fill; anything above nothing at least one.
  [[nodiscard]] std::size_t eighths(std::uint64_t bytes) const;
};

// The axis for these columns, of `rows` at most. Automatic: log when most of those that are not 0
// would not fill one row of a linear one.
[[nodiscard]] BytesAxis axis_for(const std::vector<std::uint64_t>& columns, std::size_t rows,
                                 Scale scale);

// Columns beside the area: numbers and the axis.
inline constexpr std::size_t kAxisColumns = 12;

// What stands left of a row: its upper end, and the axis.
[[nodiscard]] std::string axis_label(std::uint64_t bytes, const Page& page);

// `axis.rows` lines, the highest first, each with a newline.
[[nodiscard]] std::string area_text(const std::vector<std::uint64_t>& columns,
                                    const BytesAxis& axis, const Page& page);

// Two lines: the axis with its ticks, and their times, from `from_ns` to `to_ns` over `columns`.
[[nodiscard]] std::string time_axis_text(std::uint64_t from_ns, std::uint64_t to_ns,
                                         std::size_t columns, const Page& page);

}  // namespace vramscope
