// "100 MiB -> 108 MiB (+8.00 MiB, +8.0 %)".
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/change_text.h"

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

std::string growth_text(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || before == after) return "";
  const bool grew = after > before;
  const std::uint64_t by = grew ? after - before : before - after;
  return std::string(", ") + (grew ? "+" : "-") + percent_text(by, before);
}

}  // namespace

std::string whole_text(const std::string& name, std::uint64_t before, std::uint64_t after) {
  if (before == after) return name + amount_text(before) + ", as before";
  const auto change = static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  return name + amount_text(before) + " -> " + amount_text(after) + " (" + change_text(change) +
         growth_text(before, after) + ")";
}

std::string change_text(std::int64_t bytes) {
  return bytes > 0 ? "+" + bytes_text(bytes) : bytes_text(bytes);
}

}  // namespace vramscope
