// PageOf is the input of a page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/analysis/run_timeline.h"
#include "reporter/view/page/page_map.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {

struct Report;
class TraceWindows;

// Everything in it outlives the call that takes it.
struct PageOf {
  std::string path;      // the file's path, for headings and commands
  const Report& report;  // with the frames that are shown
  const RunTimeline& timeline;
  std::vector<MapPlace> places = {};  // of the segments that the verdict mentions
  std::string places_moment = {};     // the instant of `places`: "at the peak"
  const PageMap& map;
  std::string diff = {};    // diff_json() of the report and an earlier one; "": none
  std::string runs = {};    // add_runs_json() of the processes that were merged; "": none
  std::string ranks = {};   // ranks_for_page(); "": none
  std::string advice = {};  // advice_for_page(); "": none
  std::string fit = {};     // fit_for_page(); "": none
  const TraceWindows* windows = nullptr;  // only for a trace
  const Report* detailed = nullptr;  // only for a trace: a report that also says when memory was
                                     // allocated
  std::string filter = {};           // as typed; "": none
  // The window that is chosen first; nothing: the whole run.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window = {};
};

}  // namespace vramscope
