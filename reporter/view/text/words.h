// What texts say of a report in a word or two, alike wherever it is said.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/analysis/savings.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// "estimates from one stack in 512 KiB"; "" when all stacks were taken.
[[nodiscard]] std::string sampling_text(const Report& report);

// As a check of an argument: "", or why it is no kind of memory.
[[nodiscard]] std::string not_a_kind(const std::string& given);

// " of all 183 MiB", behind what a part of the rows held at the peak of a kind on a device; ""
// where all rows are there.
[[nodiscard]] std::string of_all_text(const Report& report, Kind kind, std::uint16_t device);
[[nodiscard]] inline std::string of_all_text(const Report& report, const KindFacts& kind) {
  return of_all_text(report, kind.kind, kind.device);
}

// What stands before the bytes of a peak: "peak", or "sum of peaks" of a report that was merged of
// several, which adds them up; where rows were chosen, "at the peak": theirs at the peak of all.
[[nodiscard]] std::string peak_word(const Report& report);

// What texts begin with that say so of a filter.
inline constexpr std::string_view kNothingPasses = "Nothing that passes was ";
// "Nothing was allocated.", or that nothing which a filter lets pass was.
[[nodiscard]] Document nothing_text(const Report& report);

// "Never freed", or up to when it was not: "Not freed when the report was written", "Not freed when
// rank 3 (4711) was killed by SIGKILL".
[[nodiscard]] std::string never_freed_text(const Report& report);
// The same amid a sentence: "never freed".
[[nodiscard]] std::string never_freed_phrase(const Report& report);
// "everything was freed", or "... by then" where that was not the end.
[[nodiscard]] std::string all_freed_phrase(const Report& report);

// "256 KiB every 50 calls of on_error", "256 KiB every 50 passes of epoch/step". function: of the
// place, as it is shown; "": not known.
[[nodiscard]] std::string rate_text(const GrowthRate& rate, const std::string& function = "");

// ", unified memory", after the name of a GPU whose memory is the host's; else "".
[[nodiscard]] std::string_view unified_words(const DeviceFacts& facts);

// What nothing recorded accounts for, where nobody measured what of it this process's is.
inline constexpr std::string_view kContextsAndOthers = "contexts, code and other processes";

// Memory of an attached process, told as one sum.
inline constexpr const char* kFromBefore =
    "from before Vramscope was attached, contexts and code included";

// "180 MiB" if both bounds are equal, "120 MiB to 200 MiB", "at most 200 MiB" if both round to
// that.
[[nodiscard]] std::string interval_text(const PeakBounds& bounds);
// The same, but "at most 200 MiB" also if the lower bound is below half of the upper one.
[[nodiscard]] std::string bounds_text(const PeakBounds& bounds);

// "410 ms to 1.66 s in 15 allocations (estimated); what the cache saved in 17 frees is not known",
// "up to 22.4 ms in ..", "at least 2.00 s in .." where more would be longer than the run; "":
// nothing, or nobody knows.
[[nodiscard]] std::string saved_text(const Savings& saved);

}  // namespace vramscope
