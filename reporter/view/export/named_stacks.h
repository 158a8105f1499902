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

// Text is valid UTF-8 without control characters and without those that turn its direction.
struct NamedFrame {
  std::string function;  // never empty: "train+0x1234" without symbols
  std::string file;      // "" unknown
  std::int32_t line = 0;
  std::string module;        // path; "" unknown, or a Python frame's
  std::uint64_t offset = 0;  // in it
  bool is_inlined = false;   // into the next one

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

  // Of a site; never empty: a stack that is not known is one frame that says so. CUDA's own
  // innermost frames are one, of the function that was called.
  [[nodiscard]] const Stack& stack(std::size_t site);
  [[nodiscard]] const NamedFrame& frame(std::uint32_t index) const { return *frames_[index]; }
  // Frames of all stacks that were asked for.
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }
  // The innermost function outside CUDA's libraries, "main (train.cu:94)".
  [[nodiscard]] const std::string& caller(std::size_t site);

 private:
  [[nodiscard]] const Stack& named(std::uint32_t frame);
  [[nodiscard]] std::uint32_t number_of(NamedFrame frame);

  const Exported& exported_;
  std::map<NamedFrame, std::uint32_t> numbers_;
  std::vector<const NamedFrame*> frames_;            // by number
  std::vector<std::optional<Stack>> by_frame_ = {};  // of the report: what is active there
  std::vector<std::optional<Stack>> by_site_ = {};
  std::vector<std::string> callers_ = {};  // by site; "": not asked for
};

// "1f2e", without "0x".
[[nodiscard]] std::string hexadecimal(std::uint64_t number);

// "main (train.cu:94)", "cudaMalloc (in /usr/lib/libcudart.so.12)".
[[nodiscard]] std::string text(const NamedFrame& frame);

}  // namespace vramscope
