// Fills a grid of cells, the median above the bands and letters above it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/band_plot.h"

#include <algorithm>

namespace vramscope {
namespace {

constexpr std::size_t kEighths = 8;

// The row in which a value ends.
std::size_t row_of(std::uint64_t bytes, const BytesAxis& axis) {
  return (std::max<std::size_t>(axis.eighths(bytes), 1) - 1) / kEighths;
}

using Grid = std::vector<std::vector<std::string>>;  // by row, the lowest first

void fill(Grid& grid, std::size_t column, std::size_t from, std::size_t to, const char* sign) {
  for (std::size_t row = from; row <= to; ++row) grid[row][column] = sign;
}

void draw(Grid& grid, std::size_t column, const Band& band, const BytesAxis& axis,
          const BandSigns& signs) {
  const auto row = [&](std::uint64_t bytes) { return row_of(bytes, axis); };
  fill(grid, column, row(band.least), row(band.most), signs.outer);
  fill(grid, column, row(band.low), row(band.high), signs.inner);
  fill(grid, column, row(band.median), row(band.median), band.median == 0 ? "_" : signs.median);
}

}  // namespace

BandSigns band_signs(const Page& page) {
  if (page.unicode) return {.median = "━", .inner = "░", .outer = "·"};
  return {.median = "=", .inner = ":", .outer = "."};
}

std::string band_text(const Bands& bands, const std::vector<LetteredCurve>& curves,
                      const BytesAxis& axis, const Page& page) {
  const BandSigns signs = band_signs(page);
  Grid grid(axis.rows, std::vector<std::string>(bands.size(), " "));
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (bands[i]) draw(grid, i, *bands[i], axis, signs);
  }
  for (std::size_t c = curves.size(); c-- > 0;) {
    for (std::size_t i = 0; i < curves[c].values.size(); ++i) {
      const std::optional<std::uint64_t>& value = curves[c].values[i];
      if (value) grid[row_of(*value, axis)][i] = std::string(1, curves[c].letter);
    }
  }
  std::string result;
  for (std::size_t row = axis.rows; row-- > 0;) {
    std::string line = axis_label(axis.top_of(row), page);
    for (const std::string& cell : grid[row]) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace vramscope
