// ScratchFile keeps bytes outside of memory while the object lives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// It lies in TMPDIR, or in /var/tmp. It has no name, only its owner can read it, and it ends with
// the process. Threads: one. Failures of the system are thrown as std::system_error with the
// folder.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;

  // Appends bytes and returns their position.
  std::uint64_t append(std::string_view bytes);
  // Makes all appended bytes readable.
  void flush();
  // Reads `bytes` bytes at a position, or as many as exist. Returns their number.
  std::size_t read(std::uint64_t at, char* to, std::size_t bytes) const;
  [[nodiscard]] std::uint64_t size() const { return written_ + pending_.size(); }

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  std::string pending_;
};

}  // namespace vramscope
