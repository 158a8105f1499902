// encoded() packs a site or a process into a few bytes for a while; decoded() and
// decoded_process() restore it. All use the fields of fields.h, so new fields are packed, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

struct MergedProcess;
struct Site;

// Returns bytes for this machine and this version, so they are for scratch files only. May throw
// bad_alloc.
[[nodiscard]] std::string encoded(const Site& site);
[[nodiscard]] std::string encoded(const MergedProcess& process);

// `bytes` must be all the bytes of one encoded(). May throw bad_alloc.
[[nodiscard]] Site decoded(std::string_view bytes);
[[nodiscard]] MergedProcess decoded_process(std::string_view bytes);

}  // namespace vramscope
