// Counts, bytes and a folder.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/left_overs_text.h"

#include <cstdint>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kManyLeftOver = 10;
constexpr std::uint64_t kMuchLeftOver = std::uint64_t{16} << 20;  // bytes

}  // namespace

std::string left_overs_text(const LeftOvers& left) {
  if (left.files.empty()) return "";
  const bool is_one = left.files.size() == 1;
  return counted(left.files.size(), "live file") + " of dead programs " +
         (is_one ? "takes " : "take ") + amount_text(left.bytes) + " in " + left.folder;
}

std::string left_overs_hint(const LeftOvers& left) {
  if (left.files.size() < kManyLeftOver && left.bytes < kMuchLeftOver) return "";
  return left_overs_text(left) + ": vramscope recover";
}

}  // namespace vramscope
