// NamedStacks names the frames of a report's sites, each distinct one once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "reporter/view/export/exported.h"

namespace vramscope {

// Text is valid UTF-8, without control characters and without characters that change its direction.
struct NamedFrame {
  std::string function;  // never empty: "train+0x1234" without symbols
  std::string file;      // "" unknown
  std::int32_t line = 0;
  std::string module;        // path; "": unknown, or a Python frame
  std::uint64_t offset = 0;  // inside the module
  bool is_inlined = false;   // into the next frame

  friend bool operator<(const NamedFrame& a, const NamedFrame& b) {
    return std::tie(a.function, a.file, a.line, a.module, a.offset, a.is_inlined) <
           std::tie(b.function, b.file, b.line, b.module, b.offset, b.is_inlined);
  }
};

// Threads: one. May throw bad_alloc.
class NamedStacks {
 public:
  using Stack = std::vector<std::uint32_t>;  // frames, innermost first

  explicit NamedStacks(const Exported& exported) : exported_(exported) {}

  // Returns the stack of a site, which is never empty: an unknown stack is one frame that says so.
  // CUDA's own innermost frames are one frame, for the function that was called.
  [[nodiscard]] const Stack& stack(std::size_t site);
  [[nodiscard]] const NamedFrame& frame(std::uint32_t index) const { return *frames_[index]; }
  // Returns the number of frames in all stacks that were asked for.
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }
  // Returns the innermost function outside CUDA's libraries, "main (train.cu:94)".
  [[nodiscard]] const std::string& caller(std::size_t site);

 private:
  [[nodiscard]] const Stack& named(std::uint32_t frame);
  [[nodiscard]] std::uint32_t number_of(NamedFrame frame);

  const Exported& exported_;
  std::map<NamedFrame, std::uint32_t> numbers_;
  std::vector<const NamedFrame*> frames_;            // by number
  std::vector<std::optional<Stack>> by_frame_ = {};  // for each frame of the report, its functions
  std::vector<std::optional<Stack>> by_site_ = {};
  std::vector<std::string> callers_ = {};  // by site; "": not asked for
};

// Returns "1f2e", without "0x".
[[nodiscard]] std::string hexadecimal(std::uint64_t number);

// Returns "main (train.cu:94)" or "cudaMalloc (in /usr/lib/libcudart.so.12)".
[[nodiscard]] std::string text(const NamedFrame& frame);

}  // namespace vramscope
