// FrameTables holds the modules, sources, codes and frames of many reports, each once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// A module is known by its build id, one without by its path; of several paths the first in
// alphabetical order stays. Threads: one. All may throw bad_alloc.
class FrameTables {
 public:
  // The number here of each frame of the report.
  [[nodiscard]] std::vector<std::uint32_t> add(const Report& report);

  // Puts everything in its order and into `report`; gives the new number of each frame.
  [[nodiscard]] std::vector<std::uint32_t> finish(Report& report);

 private:
  template <class Row>
  struct Rows {
    std::vector<Row> rows;
    std::unordered_map<std::string, std::uint32_t> numbers;
    std::uint32_t number_of(const std::string& key, const Row& row);
  };
  [[nodiscard]] std::uint32_t module_number(const ModuleFact& module);

  Rows<ModuleFact> modules_;
  Rows<SourceFact> sources_;
  Rows<CodeFact> codes_;
  Rows<FrameFact> frames_;
};

}  // namespace vramscope
