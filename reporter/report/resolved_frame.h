// ResolvedFrame is the result of looking up a frame: its functions, files and lines, or why they
// are missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

struct SourceFrame {
  std::string function;     // demangled; "" when unknown
  std::string file;         // as the compiler wrote it; "" when unknown
  std::int32_t line = 0;    // 0 when unknown
  bool is_inlined = false;  // into the next function
  bool is_python = false;
  std::string text = {};  // source text of the line, if available
};

// Why a frame has no name.
enum class SymbolState : std::uint8_t {
  resolved,
  no_symbols,  // the file has no symbol for this address
  no_file,     // the file cannot be opened here, or is not an ELF file
  too_large,   // its compressed content would take far more memory than the file
  replaced,    // the file exists, but has another build id than the one that ran
  no_module,   // the address belonged to no file: generated code
};
[[nodiscard]] std::string_view describe(SymbolState state);

struct ResolvedFrame {
  SymbolState state = SymbolState::no_symbols;
  // Innermost first: inlined functions, then the function that contains the code. Empty unless
  // resolved.
  std::vector<SourceFrame> functions;
};

}  // namespace vramscope
