// Lists what several processes left.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leak_rows.h"

#include <algorithm>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/text/site_listing.h"

namespace vramscope {

LeakRow row_of(const Report& report, const Leak& leak, const NameFrame& name) {
  const Share& share = leak.share;
  LeakRow row{.memory = memory_name(share.kind, share.device),
              .frames = {},
              .looks = leak.looks,
              .bytes = share.bytes,
              .count = share.count};
  for (const Caller& caller :
       call_site(report, report.sites[share.site], name, kAllFrames).callers) {
    row.frames.push_back(text(caller));
  }
  return row;
}

std::string leak_rows_text(std::vector<LeakRow> rows, std::size_t processes, const Page& page,
                           std::size_t most) {
  using enum Table::Align;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LeakRow& a, const LeakRow& b) { return a.bytes > b.bytes; });
  Table table({{"BYTES", right},
               {"COUNT", right, 3},
               {"PROCESSES", right},
               {"MOST", right, 4},
               {"MOST IN", left},
               {"CLASS", left, 2},
               {"MEMORY", left},
               {"WHERE", left}});
  table.place_last(Table::Last::below);
  const std::size_t shown = rows_shown(rows.size(), most);
  std::vector<std::vector<std::string>> stacks;
  for (std::size_t i = 0; i < shown; ++i) {
    const LeakRow& row = rows[i];
    const bool is_known = !row.holders.empty();
    const bool are_equal = is_known && row.holders.size() == processes &&
                           row.holders.front().bytes == row.holders.back().bytes;
    table.add({amount_text(row.bytes), count_text(static_cast<std::int64_t>(row.count)),
               is_known ? of_processes(row.holders.size(), processes) : "-",
               is_known ? amount_text(row.holders.front().bytes) : "-",
               are_equal  ? "each"
               : is_known ? who_text(row.holders.front())
                          : "-",
               std::string(kLeakClassNames[static_cast<std::size_t>(row.looks)]), row.memory});
    stacks.push_back(row.frames);
  }
  table.fill_last(page, [&](std::size_t room) {
    std::vector<std::string> texts = stack_texts(stacks, room);
    for (std::string& text : texts) text = printable(text, page);
    return texts;
  });
  std::string text = table.text(page);
  if (shown < rows.size()) {
    text += "  and " + counted(rows.size() - shown, "more place") + " (-n 0 for all)\n";
  }
  const std::string left_out = table.left_out(page);
  if (left_out.find("CLASS") != std::string::npos) return text + left_out;
  return text + left_out +
         paragraph(
             "CLASS, by when it was allocated: grows: again and again; left: during the run; "
             "late: in its last tenth; kept: only at its beginning",
             page);
}

}  // namespace vramscope
