// SymbolFacts holds functions, files and lines of a report's native frames, as they were found
// where the program ran.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace vramscope {

inline constexpr std::uint32_t kNoFile = std::numeric_limits<std::uint32_t>::max();
// No compiler inlines more functions. The limit keeps what is shown of a frame proportional to the
// file's size.
inline constexpr std::size_t kMostFunctionsOfFrame = 64;

struct FunctionSymbol {
  std::uint32_t name = 0;        // index into SymbolFacts::names
  std::uint32_t file = kNoFile;  // index into SymbolFacts::files; kNoFile (null in JSON): unknown
  std::int32_t line = 0;         // 0: unknown
  bool is_inlined = false;       // into the next function
};

// functions: innermost first; {}: the module has no name for the frame.
struct FrameSymbols {
  std::uint32_t frame = 0;  // index into Report::frames
  std::vector<FunctionSymbol> functions = {};
};

struct SymbolFacts {
  std::vector<std::string> names = {};
  std::vector<std::string> files = {};
  std::vector<FrameSymbols> frames = {};  // sorted by frame
};

}  // namespace vramscope
