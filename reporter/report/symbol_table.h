// SymbolTable collects the functions of frames, each name and file once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reporter/report/resolved_frame.h"
#include "reporter/report/symbol_facts.h"

namespace vramscope {

struct Report;

// Threads: one. May throw bad_alloc.
class SymbolTable {
 public:
  // A frame that is there already keeps its functions, unless it has none.
  void add(std::uint32_t frame, const std::vector<SourceFrame>& functions);
  // All of a report; frames: the number here of each of its own.
  void add(const Report& report, const std::vector<std::uint32_t>& frames);
  [[nodiscard]] bool knows(std::uint32_t frame) const { return frames_.contains(frame); }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  // About as many as its JSON has.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // places: the number that each frame has now; {}: as before. Nothing, where nothing was added.
  [[nodiscard]] std::optional<SymbolFacts> facts(
      const std::vector<std::uint32_t>& places = {}) const;

 private:
  using Numbers = std::unordered_map<std::string, std::uint32_t>;
  std::uint32_t number_of(const std::string& text, Numbers& numbers, std::vector<std::string>& all);

  Numbers name_numbers_;
  Numbers file_numbers_;
  SymbolFacts facts_;  // but for the frames
  std::unordered_map<std::uint32_t, std::vector<FunctionSymbol>> frames_;
  std::size_t bytes_ = 0;
};

// What the report tells of a frame; nullptr: nothing. frame: one of report.frames.
[[nodiscard]] const FrameSymbols* symbols_of_frame(const Report& report, std::uint32_t frame);
[[nodiscard]] std::vector<SourceFrame> functions_of(const Report& report,
                                                    const FrameSymbols& frame);

}  // namespace vramscope
