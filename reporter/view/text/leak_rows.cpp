// Lists what several processes left.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leak_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/text/holders_text.h"

namespace vramscope {

LeakRow row_of(const Report& report, const Leak& leak, const NameFrame& name) {
  const Share& share = leak.share;
  LeakRow row{.memory = memory_name(report, share.kind, share.device),
              .callers = {},
              .looks = leak.looks,
              .bytes = share.bytes,
              .count = share.count};
  for (Caller& caller : call_site(report, report.sites[share.site], name, kAllFrames).callers) {
    row.callers.push_back(std::make_shared<const Caller>(std::move(caller)));
  }
  return row;
}

std::string more_sites_text(std::size_t count) {
  return count == 0 ? "" : "and " + counted(count, "more call site") + " (-n 0 for all)";
}

namespace {

using enum Table::Align;

// Held by processes alone that did not end by themselves: they may have freed it.
bool is_of_the_dead(const LeakRow& row) {
  return !row.holders.empty() &&
         std::all_of(row.holders.begin(), row.holders.end(),
                     [](const LeakHolder& holder) { return !holder.death.empty(); });
}

constexpr const char* kClass = "CLASS";

Table table_of(std::span<const LeakRow> rows, std::size_t processes, const Page& page) {
  Table table({{"BYTES", right},
               {"COUNT", right, 3},
               {"PROCESSES", right},
               {"MOST", right, 4},
               {"MOST IN", left},
               {kClass, left, 2},
               {"MEMORY", left},
               {"WHERE", left}});
  table.place_last(Table::Last::below_all);
  std::vector<SharedCallers> stacks;
  for (const LeakRow& row : rows) {
    const bool is_known = !row.holders.empty();
    const bool are_equal = is_known && row.holders.size() == processes &&
                           row.holders.front().bytes == row.holders.back().bytes;
    table.add({amount_text(row.bytes), count_text(row.count),
               is_known ? of_processes(row.holders.size(), processes) : "-",
               is_known ? amount_text(row.holders.front().bytes) : "-",
               are_equal  ? "each"
               : is_known ? who_text(row.holders.front())
                          : "-",
               std::string(kLeakClassNames[static_cast<std::size_t>(row.looks)]), row.memory});
    stacks.push_back(row.callers);
  }
  table.fill_last(page, [&](std::size_t room) {
    std::vector<std::string> texts = stack_texts(stacks, room);
    for (std::string& text : texts) text = printable(text, page);
    return texts;
  });
  return table;
}

}  // namespace

Document leak_rows_text(std::vector<LeakRow> rows, std::size_t processes, const Page& page,
                        std::size_t most, std::string_view measured_in) {
  std::stable_sort(rows.begin(), rows.end(), [](const LeakRow& a, const LeakRow& b) {
    return std::pair(is_of_the_dead(b), a.bytes) > std::pair(is_of_the_dead(a), b.bytes);
  });
  const std::span<const LeakRow> all(rows);
  const std::size_t shown = rows_shown(rows.size(), most);
  const auto dead = static_cast<std::size_t>(
      std::find_if(rows.begin(), rows.end(), is_of_the_dead) - rows.begin());
  const std::size_t leaks = std::min(dead, shown);
  Document text;
  std::string left_out;  // of the last table
  bool has_class = false;
  const auto add = [&](std::span<const LeakRow> some) {
    const Table table = table_of(some, processes, page);
    const std::vector<std::string> titles = table.titles(page);
    has_class = std::find(titles.begin(), titles.end(), kClass) != titles.end();
    left_out = table.left_out(page);
    text.drawing(table.text(page));
  };
  if (leaks != 0) add(all.first(leaks));
  if (dead < rows.size()) {
    std::uint64_t bytes = 0;
    for (const LeakRow& row : all.subspan(dead)) bytes += row.bytes;
    if (!text.is_empty()) text.gap();
    text.paragraph(amount_text(bytes) +
                   " only in processes that did not end by themselves: memory that was live at "
                   "that time, which need not be a leak");
  }
  if (leaks < shown) add(all.subspan(leaks, shown - leaks));
  text.paragraph(more_sites_text(rows.size() - shown));
  text.drawing(left_out);
  if (!has_class) return text;
  text.paragraph(
      "CLASS is when the memory was allocated, with the run measured in " +
      std::string(measured_in) +
      ". grows: again and again; left: during the run; late: in the last tenth; kept: only in the "
      "first tenth");
  return text;
}

}  // namespace vramscope
