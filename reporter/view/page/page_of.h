// PageOf is what a page is about.
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

// What the page is about. All of it outlives the call that takes it.
struct PageOf {
  std::string path;      // the file, for headings and commands
  const Report& report;  // with the frames that are to be shown
  const RunTimeline& timeline;
  std::vector<MapPlace> places = {};  // of the segments that the verdict is about
  std::string places_moment = {};     // of which instant they are: "at the peak"
  const PageMap& map;
  std::string diff = {};  // what diff_json() makes of it and an earlier one; "": there is none
  std::string runs = {};  // what add_runs_json() makes of the processes that it is merged of
  const TraceWindows* windows = nullptr;  // of a trace
  const Report* detailed = nullptr;       // of a trace: what tells when memory was allocated, too
  std::string filter = {};                // as typed; "": none
  // That is chosen at first; none: all of the run.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window = {};
};

}  // namespace vramscope
