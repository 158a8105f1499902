// ResolvedFrame is what became of a frame: its functions, files and lines, or why there are none.
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
  bool is_inlined = false;  // into the next one
  bool is_python = false;
  std::string text = {};  // of the line, where it is at hand
};

// Why a frame has no name.
enum class SymbolState : std::uint8_t {
  resolved,
  no_symbols,  // the file has none for this address
  no_file,     // it cannot be opened here, or is no ELF file
  too_large,   // what is compressed in it would take far more memory than the file
  replaced,    // the file is there, but it is not the one that ran: another build id
  no_module,   // the address belonged to no file: generated code
};
[[nodiscard]] std::string_view describe(SymbolState state);

struct ResolvedFrame {
  SymbolState state = SymbolState::no_symbols;
  // Innermost first: inlined functions, then the one whose code this is. Empty unless resolved.
  std::vector<SourceFrame> functions;
};

}  // namespace vramscope
