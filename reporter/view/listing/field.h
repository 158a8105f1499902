// Field says what a field of a listing is: listings.schema.json is printed from it, and LISTINGS.md
// from that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/listing/cell_value.h"

namespace vramscope {

struct Field {
  std::string name;
  std::string doc;  // what it means
  // "integer", "string", "boolean", "integers" and "strings" (arrays), "kind" (of memory),
  // "kind_or_all", "object" and "objects" (an array) with `fields`, "numbers" (an object of
  // integers) and "numbers_by_name" (an object of such), "any", "definition NAME".
  std::string type;
  bool may_be_null = false;
  bool is_optional = false;
  std::string unit = {};  // where the name does not tell
  // All that a text may be, {}: any; of "numbers" names that are always there.
  std::span<const std::string_view> words = {};
  std::vector<Field> fields = {};
};

// As a person reads it: "1.50 KiB", "12.0 s" or "1,234" by the field's unit, "-" where unknown.
[[nodiscard]] std::string text_of(const CellValue& cell, const Field& field);

}  // namespace vramscope
