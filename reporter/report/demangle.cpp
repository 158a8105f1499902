// Demangles names: those of C++ by its own library, those of Rust by the distribution's.
// SPDX-License-Identifier: Apache-2.0
#define HAVE_DECL_BASENAME 1  // of <cstring>; libiberty's would be another
#include <cxxabi.h>
#include <libiberty/demangle.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "reporter/report/symbols.h"

namespace vramscope {

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Receives what the C library writes piece by piece. A name may refer to its own parts and grow
// without end. The only way out is then a jump over C frames, which own nothing.
struct Piece {
  std::jmp_buf too_long;
  char* text;
  std::size_t length;
};

void append(const char* text, std::size_t length, void* all) {
  Piece& piece = *static_cast<Piece*>(all);
  if (length == 0) return;  // there may be no text then
  if (length > kLongestName - piece.length) std::longjmp(piece.too_long, 1);
  std::memcpy(piece.text + piece.length, text, length);
  piece.length += length;
}

// Returns the length in `text`; 0: it is not a Rust name. Nothing here has a destructor.
std::size_t write_rust(const char* name, char* text) {
  Piece piece;
  piece.text = text;
  piece.length = 0;
  if (setjmp(piece.too_long) != 0) return 0;
  return rust_demangle_callback(name, 0, append, &piece) != 0 ? piece.length : 0;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return name;
  std::string rust(kLongestName, '\0');
  if (const std::size_t length = write_rust(name.c_str(), rust.data())) {
    rust.resize(length);
    return rust;
  }
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  return status == 0 && text ? text.get() : name;
}

}  // namespace vramscope
