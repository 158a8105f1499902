// The words for reserved memory that nobody needs, the same in every listing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/report/reserved_memory.h"

namespace vramscope {

struct Page;

// Behind what was reserved at the peak: ", at least 18.0 MiB of it idle"; "": none that is known.
[[nodiscard]] std::string idle_at_peak_text(const ReservedMemory& memory);
// Behind what is reserved now: ", 182 MiB of it idle"; "": none, or not known.
[[nodiscard]] std::string idle_now_text(const ReservedMemory& memory);
// Before that: "186 MiB allocated, "; "": not known.
[[nodiscard]] std::string allocated_words(const DeviceReport& device);
// "206 MiB reserved, at least 18.0 MiB of it idle and released when needed".
[[nodiscard]] std::string reserved_words(const ReservedMemory& memory);
// "needed: at most 188 MiB of the 206 MiB reserved; the remaining 18.0 MiB was idle: free memory
// that is released before a request is refused, and when other processes take memory"; "": all that
// was reserved was in use.
[[nodiscard]] std::string needed_text(const Report& report, const ReservedMemory& memory);
// "18.0 MiB was idle: free memory that is released before a request is refused, ...".
[[nodiscard]] std::string idle_text(const Report& report, std::uint64_t idle);
// "is released before a request is refused, ...": what becomes of idle memory.
[[nodiscard]] std::string goes_back_when(const Report& report);

}  // namespace vramscope
