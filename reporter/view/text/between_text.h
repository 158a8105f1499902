// between_text() shows what is held from one instant of a trace to another, and judges it by
// limits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/replay/held_between.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// In bytes. Nothing: no such limit.
struct BetweenLimits {
  std::optional<std::uint64_t> held = {};
  std::optional<std::uint64_t> added = {};

  [[nodiscard]] bool are_any() const { return held || added; }
};

// What was found in a file.
struct JudgedBetween {
  std::string file;
  HeldBetween found;
  BetweenLimits limits;

  [[nodiscard]] bool passed() const;
};

[[nodiscard]] Columns<HeldRow> held_columns(const Report& report, const NameFrame& name);
// Of the JSON.
[[nodiscard]] Columns<std::vector<JudgedBetween>> between_fields(const NameFrame& name,
                                                                 std::size_t most);
[[nodiscard]] std::string between_json(const std::vector<JudgedBetween>& all, const NameFrame& name,
                                       std::size_t most);
// The answers outlive the text. rows: of each table.
[[nodiscard]] Document between_text(const std::vector<JudgedBetween>& all, const NameFrame& name,
                                    const Page& page, const RowChoice& choice);
// The sites of all files.
void add_between_csv(CsvText& csv, const std::vector<JudgedBetween>& all, const NameFrame& name,
                     const RowChoice& choice);

}  // namespace vramscope
