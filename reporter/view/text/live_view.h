// LiveView is what a person has chosen to see of a running program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/live_figures.h"

namespace vramscope {

// By what rows are ordered; `growth` is since the mark.
#define VRAMSCOPE_LIVE_SORTS(X) X(live) X(growth) X(blocks) X(calls)
VRAMSCOPE_NAMED_ENUM(LiveSort, std::uint8_t, VRAMSCOPE_LIVE_SORTS);

// What the keys of a person have chosen.
struct LiveView {
  enum class Prompt : std::uint8_t { none, filter, search };
  LiveGroup group = LiveGroup::sites;
  LiveSort sort = LiveSort::live;
  std::string filter = {};  // rows whose names contain it, in any case; "": all
  std::string search = {};  // rows whose names contain it are in bold
  Prompt prompt = Prompt::none;
  std::string typed = {};  // at the prompt
  std::size_t top = 0;     // rows above the first that is shown
  bool is_paused = false;
  bool shows_help = false;
  std::string message = {};  // in place of the keys; "": none
  // For a stream instead of a terminal: no keys and no empty lines, but the next command.
  bool is_printed = false;
  std::size_t most_rows = SIZE_MAX;
};

}  // namespace vramscope
