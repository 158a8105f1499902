// What a listing can be filtered by, and a filter as it was typed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reporter/view/analysis/filter/filter.h"

namespace vramscope {

// "", or one line: which option a report cannot answer for this listing, and what would. `trace`:
// the report's, if it is there.
[[nodiscard]] std::string cannot_filter(const Filter& filter, const FilterUse& use,
                                        const std::string& trace = "");

// What a listing can be filtered by with an option, as --help has it.
enum class Answers : std::uint8_t {
  always,
  of_traces,
  by_axis,    // of traces, and of reports where the listing is by the option's axis
  by_thread,  // of traces, and of reports where the listing is by thread
  never
};
[[nodiscard]] Answers answers(const FilterUse& use, std::string_view option);

// The options for a shell: "--device 0 --kind pinned".
[[nodiscard]] std::string filter_text(const Filter& filter);

}  // namespace vramscope
