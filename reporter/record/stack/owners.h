// StackOwner names the owner of the memory for which a call stack asks: a well-known library or
// Python package, the program, or an object that no rule knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vramscope {

inline constexpr std::string_view kProgramOwner = "program";
inline constexpr std::string_view kPythonOwner = "Python";
inline constexpr std::string_view kUnknownOwner = "unknown";

// Returns whether an object only lies between the owner and the driver: CUDA's own libraries and
// NVIDIA's Python bindings, our library, and libraries that pass calls on (the C library, libffi).
// The owner is then looked for among their callers.
[[nodiscard]] bool only_passes_on(std::string_view path) noexcept;

// Returns whether the object is one of CUDA's own libraries, or ours.
[[nodiscard]] bool is_cuda_library(std::string_view path) noexcept;

// Returns "PyTorch" for libc10_cuda.so, "CuPy" for an object below site-packages/cupy, "spacy" for
// one of another package, "libfilter.so" for an object that no rule knows. May throw bad_alloc.
// is_program: it is the object that was started.
[[nodiscard]] std::string owner_of(std::string_view path, bool is_program);

// A rule for a well-known library or package. No rule looks at other parts of a path, since users
// choose the names of their folders.
struct OwnerRule {
  enum class By : std::uint8_t {
    library,  // the file's name up to its first '.' or '-'
    family,   // the beginning of the file's name, not followed by a small letter
    prefix,   // the beginning of the file's name
    package,  // the folder or module below site-packages or dist-packages
  };
  By by;
  std::string_view name;
  std::string_view owner;
};
[[nodiscard]] std::span<const OwnerRule> owner_rules();

// The owner of one call stack, whose frames are added innermost first: the first object that does
// more than pass calls on. If that object is the Python interpreter, the innermost Python function
// decides, since it may belong to a package that calls CUDA through ctypes. Both functions return
// true once the owner is certain; further frames then change nothing. May throw bad_alloc.
class StackOwner {
 public:
  bool add_object(std::string_view path, bool is_program);
  bool add_python(std::string_view source);
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_ = std::string(kUnknownOwner);
  bool is_certain_ = false;
  bool is_python_ = false;
};

}  // namespace vramscope
