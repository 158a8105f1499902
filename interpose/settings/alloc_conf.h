// The settings string of the allocator: PyTorch's syntax and names, read into plain numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/base/limits.h"

namespace vramscope {

struct AllocConf {
  Limits limits;
  std::vector<std::string> problems;  // one line each: an unknown name or a bad value, left out
  std::vector<std::string> notes;     // one line each: accepted, but without effect here, or under
                                      // the policy that `before` has
};

// "name:value,name:value", as in PYTORCH_CUDA_ALLOC_CONF: sizes in MiB, lists in brackets, spaces
// ignored; the last setting of a name wins. As there, every string, also the empty one, first takes
// max_split_size_mb, roundup_power2_divisions and garbage_collection_threshold back to their
// defaults; everything else stays as `before` has it. Throws nothing but bad_alloc.
[[nodiscard]] AllocConf parse_alloc_conf(std::string_view text, const Limits& before);

}  // namespace vramscope
