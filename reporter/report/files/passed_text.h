// PassedText returns the memory of a long text to the system while the text is read from beginning
// to end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace vramscope {

// Threads: one.
class PassedText {
 public:
  // may_go: text that was read is not needed again. The text outlives this object.
  PassedText(std::string& text, bool may_go) : text_(text), may_go_(may_go) {}

  // Tells that the first `bytes` of the text are not read any more. From now on, those in whole
  // pages read as zeros or as before.
  void passed(std::size_t bytes) {
    if (!may_go_ || bytes - gone_ < kStep) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(text_.data());
    const std::uintptr_t first = (begin + gone_ + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (begin + bytes) / kPage * kPage;
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
    gone_ = bytes;
  }
  [[nodiscard]] bool is_whole() const { return gone_ == 0; }

 private:
  static constexpr std::size_t kStep = std::size_t{1} << 20;
  static constexpr std::uintptr_t kPage = std::uintptr_t{64} << 10;  // at least the page size of
                                                                     // any machine

  std::string& text_;
  const bool may_go_;
  std::size_t gone_ = 0;
};

}  // namespace vramscope
