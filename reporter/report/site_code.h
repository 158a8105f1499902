// encoded() packs a site into a few bytes for a while, and decoded() restores it. Both use the
// fields of fields.h, so new fields are packed, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

struct Site;

// Returns bytes for this machine and this version, so they are for scratch files only. May throw
// bad_alloc.
[[nodiscard]] std::string encoded(const Site& site);

// `bytes` must be all the bytes of one encoded(). May throw bad_alloc.
[[nodiscard]] Site decoded(std::string_view bytes);

}  // namespace vramscope
