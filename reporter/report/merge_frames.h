// FrameTables holds the modules, sources, codes and frames of many reports, each once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>
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
  // Each row once. In the table rows stand by their number.
  template <class Row>
  class Rows {
   public:
    Rows() : numbers_(0, Content{rows}, Content{rows}) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    [[nodiscard]] std::uint32_t number_of(const Row& row);
    std::vector<Row> take();  // nothing is known any more
    std::vector<Row> rows;

   private:
    struct Content {
      const std::vector<Row>& rows;
      std::size_t operator()(std::uint32_t number) const;
      bool operator()(std::uint32_t a, std::uint32_t b) const;
    };
    std::unordered_set<std::uint32_t, Content, Content> numbers_;
  };
  [[nodiscard]] std::uint32_t module_number(const ModuleFact& module);

  Rows<ModuleFact> modules_;
  Rows<SourceFact> sources_;
  Rows<CodeFact> codes_;
  Rows<FrameFact> frames_;
};

}  // namespace vramscope
