// FrameTables holds the modules, sources, codes and frames of many reports, each once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  // Holds each row once, in the order of the rows' numbers. Jobs may have millions of frames, so a
  // row takes 8 to 16 bytes of the table.
  template <class Row>
  class Rows {
   public:
    [[nodiscard]] std::uint32_t number_of(const Row& row);
    std::vector<Row> take();  // afterwards no row is known any more
    std::vector<Row> rows;

   private:
    static constexpr std::uint32_t kFree = 0xffffffffU;

    // Returns the slot of the row's number, or the free one in which it belongs.
    [[nodiscard]] std::size_t slot_of(const Row& row) const;
    void grow();

    std::vector<std::uint32_t> slots_;  // numbers by the hash of the content; at most half are used
  };
  [[nodiscard]] std::uint32_t module_number(const ModuleFact& module);

  Rows<ModuleFact> modules_;
  Rows<SourceFact> sources_;
  Rows<CodeFact> codes_;
  Rows<FrameFact> frames_;
};

}  // namespace vramscope
