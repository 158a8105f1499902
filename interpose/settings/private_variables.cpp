// Writes and reads the values of private variables.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/private_variables.h"

#include <algorithm>
#include <charconv>

namespace vramscope {

std::string free_before_text(const std::vector<FreeBytes>& devices) {
  std::string text;
  for (const FreeBytes& device : devices) {
    text += (text.empty() ? "" : ",") + device.uuid + "=" + std::to_string(device.bytes);
  }
  return text;
}

std::optional<std::uint64_t> free_before(std::string_view text, std::string_view uuid) noexcept {
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    if (!entry.starts_with(uuid)) continue;
    entry.remove_prefix(uuid.size());
    if (!entry.starts_with('=')) continue;
    std::uint64_t bytes = 0;
    const char* const end = entry.data() + entry.size();
    const auto read = std::from_chars(entry.data() + 1, end, bytes);
    if (read.ec == std::errc{} && read.ptr == end) return bytes;
  }
  return std::nullopt;
}

}  // namespace vramscope
