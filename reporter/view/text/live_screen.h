// live_screen() draws what a running program has, for one size of a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reporter/view/analysis/live_figures.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/screen.h"
#include "reporter/view/text/live_view.h"

namespace vramscope {

struct LiveReading;

// The names of rows: looked up once, for symbols take time. Threads: one.
class LiveRowNames {
 public:
  explicit LiveRowNames(NameFrame name) : name_(std::move(name)) {}
  // A row of that report and group.
  [[nodiscard]] const std::string& of(const Report& report, LiveGroup group, const LiveRow& row);
  [[nodiscard]] const NameFrame& frames() const { return name_; }

 private:
  static constexpr std::size_t kMost = 100'000;
  [[nodiscard]] std::string name_of(const Report& report, LiveGroup group, const LiveRow& row);

  NameFrame name_;
  std::map<std::pair<LiveGroup, std::string>, std::string> names_;
};

// What has been read. It has a report.
struct LivePicture {
  const LiveReading& reading;
  const LiveHistory& history;
  const LiveMark& mark;
  LiveRowNames& names;
};

// Rows that pass the filter, in order.
[[nodiscard]] std::vector<LiveRow> shown_rows(const LivePicture& picture, const LiveView& view);

// The first row after `after` whose name contains the search, from the beginning again; the number
// of rows if there is none.
[[nodiscard]] std::size_t found_row(const LivePicture& picture, const LiveView& view,
                                    std::size_t after);

// Fills the size exactly, unless it is printed. The page says what may be drawn.
[[nodiscard]] Screen live_screen(const LivePicture& picture, const LiveView& view,
                                 const ScreenSize& size, const Page& page);

// The command that leads on when the program has ended: words behind "vramscope".
[[nodiscard]] std::string next_of_ended(const LiveReading& reading, const Page& page);

}  // namespace vramscope
