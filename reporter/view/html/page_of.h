// PageOf is what a page is about.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/text/map_text.h"
#include "reporter/view/text/run_timeline.h"

namespace vramscope {

struct Report;
class TraceWindows;

// What the page is about. All of it outlives the call that takes it.
struct PageOf {
  std::string path;      // the file, for headings and commands
  const Report& report;  // with the frames that are to be shown
  const RunTimeline& timeline;
  std::vector<MapPlace> places = {};  // of the report's segments
  MapMoment moment = {};
  std::string diff = {};  // what diff_json() makes of it and an earlier one; "": there is none
  std::string runs = {};  // what runs_json() makes of the processes that it is merged of
  const TraceWindows* windows = nullptr;  // of a trace
};

}  // namespace vramscope
