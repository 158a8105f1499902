// FrameTables holds the modules, sources, codes and frames of many reports, each once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// A module is identified by its build id, or by its path if it has none. Of several paths the
// alphabetically first is kept. Threads: one. All functions may throw bad_alloc.
class FrameTables {
 public:
  // Adds a report's frames. Returns the number here of each of them.
  [[nodiscard]] std::vector<std::uint32_t> add(const Report& report);

  // Sorts everything and moves it into `report`. Returns the new number of each frame.
  [[nodiscard]] std::vector<std::uint32_t> finish(Report& report);

 private:
  // Holds each row once, in the order of the rows' numbers.
  template <class Row>
  class Rows {
   public:
    Rows() : numbers_(0, Content{rows}, Content{rows}) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    [[nodiscard]] std::uint32_t number_of(const Row& row);
    std::vector<Row> take();  // afterwards no row is known any more
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
