// encoded() packs a site into a few bytes for a while, decoded() gives it back: by the fields of
// fields.h, so that a new one is packed with the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

struct Site;

// Of the machine that reads it, and of this version: for scratch files only. May throw bad_alloc.
[[nodiscard]] std::string encoded(const Site& site);

// `bytes`: of encoded(), and all of them. May throw bad_alloc.
[[nodiscard]] Site decoded(std::string_view bytes);

}  // namespace vramscope
