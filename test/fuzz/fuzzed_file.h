// FuzzedFile is what a fuzzer made, as a file that the readers can open.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace vramscope {

// In memory. Threads: one.
class FuzzedFile {
 public:
  explicit FuzzedFile(std::span<const std::uint8_t> bytes) : file_(memfd_create("fuzzed", 0)) {
    const auto written = write(file_, bytes.data(), bytes.size());
    if (written != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~FuzzedFile() { close(file_); }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

// Ends the process when a terminal would obey anything in `text`.
inline void demand_harmless(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_control = (byte < 0x20 && byte != '\n') || byte == 0x7f;
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() &&
                       static_cast<unsigned char>(text[i + 1]) < 0xa0;  // U+0080 to U+009F
    if (is_control || is_c1) std::abort();
  }
}

// A complaint is one line of bearable length.
inline void demand_one_line(std::string_view text) {
  constexpr std::size_t kLongest = 2000;
  if (text.empty() || text.size() > kLongest || text.find('\n') != text.npos) std::abort();
}

}  // namespace vramscope
