// Trigger is why a report was written. A report stores the word, since newer versions may have
// other words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "allocator/base/named_enum.h"

namespace vramscope {

// The words of FORMAT.md. `trace` and `imported` are triggers of reports that the tool makes from a
// trace or another tool's file and never writes. The last two appear in no report: `untold` stands
// for a missing trigger, `other` for a word that this version does not know.
#define VRAMSCOPE_TRIGGERS(X) \
  X(exit)                     \
  X(exec)                     \
  X(signal)                   \
  X(oom)                      \
  X(interval)                 \
  X(growth)                   \
  X(peak) X(control) X(moving) X(recovered) X(merged) X(trace) X(imported) X(untold) X(other)
VRAMSCOPE_NAMED_ENUM(Trigger, std::uint8_t, VRAMSCOPE_TRIGGERS);

[[nodiscard]] constexpr std::string_view word_of(Trigger trigger) {
  return kTriggerNames[static_cast<std::size_t>(trigger)];
}

[[nodiscard]] constexpr Trigger trigger_of(std::string_view word) {
  if (word.empty()) return Trigger::untold;
  const auto end = kTriggerNames.begin() + static_cast<std::size_t>(Trigger::untold);
  const auto found = std::find(kTriggerNames.begin(), end, word);
  return found == end ? Trigger::other : static_cast<Trigger>(found - kTriggerNames.begin());
}

}  // namespace vramscope
