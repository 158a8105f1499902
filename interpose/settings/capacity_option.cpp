// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/capacity_option.h"

#include <algorithm>
#include <optional>

#include "interpose/settings/numbers.h"

namespace vramscope {
namespace {

std::optional<std::size_t> ordinal(std::string_view text) {
  std::uint64_t number = 0;
  return read_number(text, number) && number < kMaxDevices ? std::optional(number) : std::nullopt;
}

// Reads one part of a list: "40GiB" for the device at that position, "1:10GiB" for device 1.
bool read_part(std::string_view part, std::size_t position, CapacityOption& limits) {
  const std::size_t colon = part.find(':');
  const bool is_named = colon != std::string_view::npos;
  const std::optional<std::size_t> device =
      is_named ? ordinal(part.substr(0, colon)) : std::optional(position);
  Bytes size;
  if (!device || *device >= kMaxDevices || limits.bytes[*device] != 0) return false;
  if (!read(is_named ? part.substr(colon + 1) : part, size) || size.value == 0) return false;
  limits.bytes[*device] = size.value;
  return true;
}

bool is_for_every_device(const CapacityOption& limits) {
  const auto& bytes = limits.bytes;
  return std::count(bytes.begin(), bytes.end(), bytes[0]) == std::ssize(bytes);
}

}  // namespace

bool CapacityOption::any() const noexcept {
  return std::any_of(bytes.begin(), bytes.end(), [](std::uint64_t limit) { return limit != 0; });
}

bool read(std::string_view text, CapacityOption& limits) {
  if (text == "none") {
    limits = {};
    return true;
  }
  CapacityOption result;
  std::size_t position = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++position) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (!read_part(text.substr(begin, end - begin), position, result)) return false;
    begin = end + 1;
  }
  const bool is_for_all = position == 1 && text.find(':') == std::string_view::npos;
  if (is_for_all) result.bytes.fill(result.bytes[0]);
  limits = result;
  return true;
}

std::string beyond(const CapacityOption& limits, std::size_t devices) {
  std::string names;
  if (is_for_every_device(limits)) return names;
  for (std::size_t i = devices; i < limits.bytes.size(); ++i) {
    if (limits.bytes[i] == 0) continue;
    names += (names.empty() ? "GPU " : ", GPU ") + std::to_string(i);
  }
  return names;
}

std::string text(const CapacityOption& limits) {
  if (!limits.any()) return "none";
  const auto& bytes = limits.bytes;
  if (is_for_every_device(limits)) return size_text(bytes[0]);
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    if (!result.empty()) result += ',';
    result += std::to_string(i) + ":" + size_text(bytes[i]);
  }
  return result;
}

}  // namespace vramscope
