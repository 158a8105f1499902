// known_tags:: finds the tags of a thread's repeated calls without capturing a stack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

class ModuleTable;
struct Origin;

struct KnownTag {
  Tag tag = 0;                // 0: it is not known
  std::uint64_t stack = 0;    // the stack's hash
  bool is_by_caller = false;  // the caller alone decides, so no stack was looked at
};

namespace known_tags {

// Works as Recorder::known(). `recorder` identifies the recorder, `epoch` its modules' state.
[[nodiscard]] KnownTag find(const void* recorder, std::uint32_t epoch, const Origin& origin,
                            const void* frame) noexcept;

// Works as Recorder::know(). May throw bad_alloc.
void note(const void* recorder, const ModuleTable& modules, const Origin& origin,
          std::uintptr_t caller, Tag tag);

}  // namespace known_tags
}  // namespace vramscope
