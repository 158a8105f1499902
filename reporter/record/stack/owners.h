// StackOwner says whose memory a call stack asks for: a well-known library or Python package, the
// program, an object that nobody knows.
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

// Objects between whoever asks and the driver: CUDA's own and NVIDIA's bindings of it for Python,
// ours, and those that only pass calls on (the C library, libffi). Their callers are asked.
[[nodiscard]] bool only_passes_on(std::string_view path) noexcept;

// Of CUDA alone, or ours.
[[nodiscard]] bool is_cuda_library(std::string_view path) noexcept;

// "PyTorch" for libc10_cuda.so, "CuPy" for an object below site-packages/cupy, "spacy" for one of
// another package, "libfilter.so" for an object that nobody knows. May throw bad_alloc.
// is_program: the object that was started.
[[nodiscard]] std::string owner_of(std::string_view path, bool is_program);

// A rule for a well-known library or package. No rule looks at other parts of a path: they are
// whatever the user called their folders.
struct OwnerRule {
  enum class By : std::uint8_t {
    library,  // the file's name up to its first '.' or '-'
    family,   // the beginning of the file's name, before anything but a small letter
    prefix,   // the beginning of the file's name
    package,  // the folder behind site-packages or dist-packages, or the module there
  };
  By by;
  std::string_view name;
  std::string_view owner;
};
[[nodiscard]] std::span<const OwnerRule> owner_rules();

// The owner of one call stack, whose frames are told innermost first: the first object that does
// not only pass calls on. If that is the Python interpreter, the innermost Python function decides:
// it may be of a package that calls CUDA through ctypes. Both functions return true once the owner
// is certain; further frames then change nothing. May throw bad_alloc.
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
