// band_text() draws how many curves lie over each other: their median, where most of them are, and
// single ones by a letter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/listing/format.h"
#include "reporter/view/listing/plot.h"

namespace vramscope {

// One column: the values, ascending.
struct Band {
  std::uint64_t least = 0, low = 0, median = 0, high = 0, most = 0;
};
// nothing: no curve is there.
using Bands = std::vector<std::optional<Band>>;

struct LetteredCurve {
  char letter = 'a';
  std::vector<std::optional<std::uint64_t>> values;  // in each column
};

// What stands for the median, for low to high, and for least to most.
struct BandSigns {
  const char* median;
  const char* inner;
  const char* outer;
};
[[nodiscard]] BandSigns band_signs(const Page& page);

// `axis.rows` lines, the highest first, each with a newline. Letters stand above the rest, the
// first above later ones.
[[nodiscard]] std::string band_text(const Bands& bands, const std::vector<LetteredCurve>& curves,
                                    const BytesAxis& axis, const Page& page);

}  // namespace vramscope
