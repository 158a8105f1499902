// SymbolFacts is what a report tells of its native frames beside their addresses: functions, files
// and lines, as they were found where the program ran.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace vramscope {

inline constexpr std::uint32_t kNoFile = std::numeric_limits<std::uint32_t>::max();
// More are no inlined functions of anybody's: what a frame is shown as follows from the file's
// size.
inline constexpr std::size_t kMostFunctionsOfFrame = 64;

struct FunctionSymbol {
  std::uint32_t name = 0;        // of SymbolFacts::names
  std::uint32_t file = kNoFile;  // of SymbolFacts::files; kNoFile (null in JSON): unknown
  std::int32_t line = 0;         // 0: unknown
  bool is_inlined = false;       // into the next one
};

// functions: innermost first; {}: its module has no name for it.
struct FrameSymbols {
  std::uint32_t frame = 0;  // of Report::frames
  std::vector<FunctionSymbol> functions = {};
};

struct SymbolFacts {
  std::vector<std::string> names = {};
  std::vector<std::string> files = {};
  std::vector<FrameSymbols> frames = {};  // by frame
};

}  // namespace vramscope
