// ScratchFile keeps bytes outside of memory for as long as it lives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// In TMPDIR, else in /var/tmp; without a name, readable by its owner only, gone with the process.
// Threads: one. Failures of the system are thrown as std::system_error, and say where.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;

  // Where the bytes begin.
  std::uint64_t append(std::string_view bytes);
  // All that was appended can be read from then on.
  void flush();
  // `bytes.size()` bytes from there on, or as many as there are; how many.
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
