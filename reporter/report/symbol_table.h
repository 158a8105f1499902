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
  // Adds a frame's functions. A frame that already has functions keeps them.
  void add(std::uint32_t frame, const std::vector<SourceFrame>& functions);
  // Adds all symbols of a report. frames: the number here of each of its frames.
  void add(const Report& report, const std::vector<std::uint32_t>& frames);
  [[nodiscard]] bool knows(std::uint32_t frame) const { return frames_.contains(frame); }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  // Returns about the number of bytes of the table's JSON.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // Returns the symbols, or nothing if none were added. places: the present number of each frame;
  // {}: unchanged.
  [[nodiscard]] std::optional<SymbolFacts> facts(
      const std::vector<std::uint32_t>& places = {}) const;

 private:
  using Numbers = std::unordered_map<std::string, std::uint32_t>;
  std::uint32_t number_of(const std::string& text, Numbers& numbers, std::vector<std::string>& all);

  Numbers name_numbers_;
  Numbers file_numbers_;
  SymbolFacts facts_;  // without the frames
  std::unordered_map<std::uint32_t, std::vector<FunctionSymbol>> frames_;
  std::size_t bytes_ = 0;
};

// Returns the report's symbols of a frame, or nullptr. frame: an element of report.frames.
[[nodiscard]] const FrameSymbols* symbols_of_frame(const Report& report, std::uint32_t frame);
[[nodiscard]] std::vector<SourceFrame> functions_of(const Report& report,
                                                    const FrameSymbols& frame);

}  // namespace vramscope
