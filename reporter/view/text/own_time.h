// Times in a merged report count from the start of its first process, and times in the report of
// one process from the start of that process. Both are shown, so that you find an event in either.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

struct KindFacts;
struct OomEvent;
struct Report;

// When the kind's highest peak was, in the time of the process whose it was.
[[nodiscard]] std::uint64_t own_peak_ns(const Report& report, const KindFacts& kind);
[[nodiscard]] std::uint64_t own_time_ns(const Report& report, const OomEvent& event);

// "after 59.2 ms"; of a merged report "59.2 ms after its process began (1.02 s after the first
// process began)".
[[nodiscard]] std::string own_time_text(const Report& report, std::uint64_t own_ns,
                                        std::uint64_t ns);

}  // namespace vramscope
