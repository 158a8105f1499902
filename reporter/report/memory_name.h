// What people call a memory: of a kind and a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "allocator/ground/place.h"

namespace vramscope {

// "GPU", and of other kinds their name in reports: "managed".
[[nodiscard]] inline std::string kind_text(Kind kind) {
  return kind == Kind::device ? "GPU" : std::string(kKindNames[static_cast<std::size_t>(kind)]);
}

// "GPU 0", "GPU 0 managed", "pinned".
[[nodiscard]] inline std::string memory_name(Kind kind, std::uint16_t device) {
  if (!has_device(kind)) return kind_text(kind);
  const std::string gpu = "GPU " + std::to_string(device);
  return kind == Kind::device ? gpu : gpu + " " + kind_text(kind);
}

}  // namespace vramscope
