// Writes cells for a person.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/field.h"

#include "reporter/view/listing/format.h"

namespace vramscope {

std::string text_of(const CellValue& cell, const Field& field) {
  if (const auto* word = std::get_if<std::string>(&cell)) return *word;
  const auto* whole = std::get_if<std::uint64_t>(&cell);
  const auto* value = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr && value == nullptr) return "-";
  const std::int64_t number = value != nullptr ? *value : static_cast<std::int64_t>(*whole);
  if (field.name.ends_with("_ns")) return duration_text(static_cast<std::uint64_t>(number));
  if (!field.name.ends_with("bytes")) return count_text(number);
  return whole != nullptr ? amount_text(*whole) : bytes_text(number);
}

}  // namespace vramscope
