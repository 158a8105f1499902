// Puts the parts of the screen together.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/live_screen.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>
#include <tuple>

#include "reporter/report/live/live_reading.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/running_program.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/plot.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/text/live_words.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

using Style = ScreenStyle;

std::string in_lower_case(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

bool has(const std::string& name, const std::string& wanted) {
  return in_lower_case(name).find(in_lower_case(wanted)) != name.npos;
}

std::uint64_t age_of(const ProcessFacts& process) {
  return process.report_time_ns - std::min(process.start_time_ns, process.report_time_ns);
}

std::string growth_text(const LiveRow& row) {
  if (!row.grown_bytes) return "";
  const std::string text = bytes_text(*row.grown_bytes);
  return *row.grown_bytes > 0 ? "+" + text : text;
}

// "train (4711)  running for 12.4 s  mode cache", and when it was read.
std::string head_of(const LivePicture& picture, const LiveView& view) {
  const ProcessFacts& process = picture.reading.report->process;
  const std::string ran = duration_text(age_of(process));
  std::string text = " " + titled_process(process) + "  ";
  text += picture.reading.has_ended ? "ended after " + ran : "running for " + ran;
  text += "  mode " + process.mode;
  const std::string time = time_text(process.report_time_ns);
  if (time.size() > 19) text += "  " + time.substr(11, 8);
  if (picture.mark.is_set()) text += "  mark " + time_text(picture.mark.time_ns()).substr(11, 8);
  if (view.is_paused) text += "  PAUSED";
  return text;
}

// Parts of a device's memory as a bar: cells by the sums up to each part, so that all of them
// together have the right length.
ScreenLine bar_of(const LiveGpu& device, std::size_t cells, const Page& page) {
  struct Part {
    std::uint64_t bytes;
    Style style;
    const char* cell;
    const char* plain_cell;
  };
  const Part parts[] = {{device.live_bytes, Style::live, "\u2588", "#"},
                        {device.cached_bytes, Style::cached, "\u2593", "="},
                        {device.before_bytes, Style::driver, "\u2592", "+"},
                        {device.driver_bytes, Style::driver, "\u2592", "+"},
                        {device.others_bytes, Style::others, "\u2592", "x"}};
  const std::uint64_t whole = std::max(device.total_bytes, device.used_bytes());
  ScreenLine line{{"  [", Style::plain}};
  std::uint64_t sum = 0;
  std::size_t drawn = 0;
  for (const Part& part : parts) {
    sum += part.bytes;
    const double share = whole == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(whole);
    auto end = static_cast<std::size_t>(share * static_cast<double>(cells) + 0.5);
    if (part.bytes != 0) end = std::max(end, drawn + 1);
    end = std::min(end, cells);
    std::string text;
    for (; drawn < end; ++drawn) text += page.unicode ? part.cell : part.plain_cell;
    if (!text.empty()) line.push_back({std::move(text), part.style});
  }
  std::string rest;
  for (; drawn < cells; ++drawn) rest += page.unicode ? "\u2591" : ".";
  line.push_back({rest, Style::plain});
  line.push_back({"]", Style::plain});
  return line;
}

void add_device(const Report& report, const LiveGpu& device, const ScreenSize& size,
                const Page& page, Screen& screen) {
  const DeviceFacts& facts = device.report->facts;
  std::string title = gpu_name(report, facts.index);
  if (!facts.name.empty()) title += "  " + printable(facts.name, page);
  title += "  " + amount_text(device.used_bytes());
  if (device.total_bytes != 0) {
    title += " of " + amount_text(device.total_bytes) + " used (" +
             percent_text(device.used_bytes(), device.total_bytes) + ")";
  }
  screen.add(std::move(title), Style::bold);
  screen.lines.push_back(bar_of(device, size.columns > 5 ? size.columns - 5 : 1, page));
  ScreenLine parts{{"  live ", Style::plain},
                   {amount_text(device.live_bytes), Style::live},
                   {" (peak " + amount_text(device.peak_bytes) + ")", Style::plain}};
  const auto add = [&](const char* what, std::uint64_t bytes, Style style) {
    parts.push_back({what, Style::plain});
    parts.push_back({amount_text(bytes), style});
  };
  add("  cached ", device.cached_bytes, Style::cached);
  const bool has_before = device.before_bytes != 0;
  if (has_before) add("  from before ", device.before_bytes, Style::driver);
  if (!has_before || device.driver_bytes != 0) {
    add("  contexts ", device.driver_bytes, Style::driver);
  }
  add("  others ", device.others_bytes, Style::others);
  screen.lines.push_back(std::move(parts));
}

// Memory that takes of no device.
void add_host(const Report& report, Screen& screen) {
  std::string text;
  for (const KindFacts& kind : report.kinds) {
    if (!is_host(kind.kind)) continue;
    text += (text.empty() ? "" : ", ") + kind_text(kind.kind) + " " +
            amount_text(kind.current_bytes) + " (peak " + amount_text(kind.peak_bytes) + ")";
  }
  if (!text.empty()) screen.add("Host  " + text);
}

void add_history(const LiveHistory& history, const ScreenSize& size, const Page& page,
                 Screen& screen) {
  const std::size_t rows = std::clamp<std::size_t>(size.lines / 6, 3, 10);
  if (size.columns < kAxisColumns + 10 || history.samples().size() < 2) return;
  const std::size_t count = size.columns - kAxisColumns - 1;
  const std::uint64_t length = std::max<std::uint64_t>(history.length_ns(), 1);
  const std::vector<std::uint64_t> cells = history.columns(count, length);
  if (*std::max_element(cells.begin(), cells.end()) == 0) return;
  screen.add_lines(area_text(cells, axis_for(cells, rows, Scale::linear), page));
  screen.add(std::string(kAxisColumns, ' ') + "live memory of the last " + duration_text(length),
             Style::dim);
}

// Of rows of call sites: their stacks as reports show them, in so many columns, told apart.
// `names`: of the rows. What is left out at their fronts depends on all call sites, not on what is
// live now.
std::vector<std::string> where_texts(const LivePicture& picture, std::span<const LiveRow> rows,
                                     std::vector<std::string> names, std::size_t room) {
  constexpr std::size_t kBeside = 64;
  const Report& report = *picture.reading.report;
  const NameFrame& name = picture.names.frames();
  std::vector<std::size_t> with_stack;  // indices of rows
  std::vector<CallSite> stacks;
  std::set<std::int64_t> listed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].site < 0) continue;
    const Site& site = report.sites[static_cast<std::size_t>(rows[i].site)];
    if (site.is_left_out) continue;
    with_stack.push_back(i);
    stacks.push_back(folded_call_site(report, site, name, kFramesLookedAt));
    listed.insert(rows[i].site);
  }
  StacksShown others;
  for (std::size_t i = 0; i < std::min(kBeside, report.sites.size()); ++i) {
    if (listed.contains(static_cast<std::int64_t>(i))) continue;
    others.beside.push_back(folded_call_site(report, report.sites[i], name, kFramesLookedAt));
  }
  const auto whole = [&](std::size_t stack) {
    const auto site = static_cast<std::size_t>(rows[with_stack[stack]].site);
    return call_site(report, report.sites[site], name, kAllFrames);
  };
  const std::vector<StackText> texts = stack_texts(stacks, room, whole, others);
  for (std::size_t i = 0; i < texts.size(); ++i) names[with_stack[i]] = texts[i].text;
  return names;
}

Table table_of_rows(const LivePicture& picture, const LiveView& view,
                    const std::vector<LiveRow>& rows, std::size_t most, const Page& page) {
  using enum Table::Align;
  std::vector<Table::Column> titles{{"LIVE", right}};
  if (picture.mark.is_set()) titles.push_back({"SINCE MARK", right});
  titles.insert(titles.end(), {{"BLOCKS", right, 1},
                               {"CALLS", right, 2},
                               {"MEMORY", left, 3},
                               {word_of(view.group).title}});
  Table table(std::move(titles));
  const Report& report = *picture.reading.report;
  std::vector<std::string> names;
  for (std::size_t i = view.top; i < rows.size() && i - view.top < most; ++i) {
    const LiveRow& row = rows[i];
    std::vector<std::string> cells{amount_text(row.live_bytes)};
    if (picture.mark.is_set()) cells.push_back(growth_text(row));
    cells.push_back(row.is_changing ? "" : count_text(static_cast<std::int64_t>(row.live_count)));
    cells.push_back(row.is_changing ? "" : count_text(static_cast<std::int64_t>(row.total_count)));
    cells.push_back(memory_name(report, row.kind(), row.device()));
    names.push_back(picture.names.of(report, view.group, row));
    table.add(std::move(cells));
  }
  table.fill_last(page, [&](std::size_t room) {
    if (view.group != LiveGroup::sites) return names;
    const auto shown = std::span(rows).subspan(names.empty() ? 0 : view.top, names.size());
    return where_texts(picture, shown, names, room);
  });
  return table;
}

// Which group is shown, and what else there is.
ScreenLine tabs_of(const LiveView& view, std::size_t rows) {
  ScreenLine line;
  for (std::size_t i = 0; i < kLiveGroupNames.size(); ++i) {
    const auto group = static_cast<LiveGroup>(i);
    const bool is_shown = group == view.group;
    line.push_back(
        {(is_shown ? "[" : " ") + std::string(word_of(group).tab) + (is_shown ? "]" : " ") + " ",
         is_shown ? Style::bold : Style::plain});
  }
  std::string text = " by " + std::string(word_of(view.sort)) + ", " + counted(rows, "row");
  if (!view.filter.empty()) text += " with '" + view.filter + "'";
  line.push_back({text, Style::dim});
  return line;
}

void add_rows(const LivePicture& picture, LiveView view, std::size_t lines, std::size_t width,
              const Page& page, Screen& screen) {
  const std::vector<LiveRow> rows = shown_rows(picture, view);
  view.top = std::min(view.top, std::max<std::size_t>(rows.size(), 1) - 1);  // rows may have gone
  screen.lines.push_back(tabs_of(view, rows.size()));
  if (lines < 2) return;
  Page narrow = page;
  narrow.width = width;
  narrow.cuts = page.cuts || !view.is_printed;
  narrow.colour = false;
  const std::size_t most = std::min(lines - 1, view.most_rows);
  const auto is_found = [&](std::size_t row) {
    if (view.search.empty() || row >= rows.size()) return false;
    return has(picture.names.of(*picture.reading.report, view.group, rows[row]), view.search);
  };
  screen.add_lines(table_of_rows(picture, view, rows, most, narrow).text(narrow),
                   [&](std::size_t line) {
                     if (line == 0) return Style::dim;
                     return is_found(view.top + line - 1) ? Style::bold : Style::plain;
                   });
  const std::size_t shown = std::min(rows.size() - std::min(view.top, rows.size()), most);
  if (view.is_printed) screen.add_lines(and_more(rows.size() - shown, "row"));
}

std::string last_line(const LivePicture& picture, const LiveView& view, const Page& page) {
  if (view.prompt == LiveView::Prompt::filter) return " filter: " + view.typed;
  if (view.prompt == LiveView::Prompt::search) return " search: " + view.typed;
  if (!view.message.empty()) return " " + view.message;
  if (picture.reading.has_ended) {
    return " ended; next: vramscope " + next_of_ended(picture.reading, page) + "   q quit";
  }
  return std::string(kLiveKeys);
}

void add_help(Screen& screen) {
  for (const LiveKeyHelp& one : kLiveHelp) {
    screen.add("  " + std::string(one.key) + std::string(12 - one.key.size(), ' ') +
               std::string(one.does));
  }
}

// Ends with the command that leads on.
Screen printed(Screen screen, const LivePicture& picture, const Page& page) {
  const std::string pid = std::to_string(picture.reading.report->process.pid);
  screen.add("");
  screen.add("Next: vramscope " + (picture.reading.has_ended ? next_of_ended(picture.reading, page)
                                                             : "snapshot " + pid));
  return screen;
}

}  // namespace

const std::string& LiveRowNames::of(const Report& report, LiveGroup group, const LiveRow& row) {
  const auto key = std::pair(group, std::get<0>(row.key));
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  if (names_.size() > kMost) names_.clear();
  return names_.emplace(key, name_of(report, group, row)).first->second;
}

std::string LiveRowNames::name_of(const Report& report, LiveGroup group, const LiveRow& row) {
  if (row.is_changing) return std::string(kChangingRow);
  if (group == LiveGroup::sites) {
    const Site& site = report.sites[static_cast<std::size_t>(row.site)];
    return site.is_left_out ? std::string(kUnsampledRow)
                            : stack_text(call_site_in_text(report, site, name_, kFramesInRow + 1),
                                         Table::kUncut);
  }
  if (group != LiveGroup::threads) return row.value;
  return text_of_thread(ThreadNames(report, name_), row.value, {.unicode = true});
}

std::vector<LiveRow> shown_rows(const LivePicture& picture, const LiveView& view) {
  const Report& report = *picture.reading.report;
  std::vector<LiveRow> rows = live_rows(report, view.group, picture.mark);
  if (!view.filter.empty()) {
    std::erase_if(rows, [&](const LiveRow& row) {
      return !has(picture.names.of(report, view.group, row), view.filter);
    });
  }
  const auto rank = [&](const LiveRow& row) -> std::int64_t {
    switch (view.sort) {
      case LiveSort::growth:
        return row.grown_bytes.value_or(0);
      case LiveSort::blocks:
        return static_cast<std::int64_t>(row.live_count);
      case LiveSort::calls:
        return static_cast<std::int64_t>(row.total_count);
      case LiveSort::live:
        break;
    }
    return static_cast<std::int64_t>(row.live_bytes);
  };
  std::ranges::stable_sort(rows,
                           [&](const LiveRow& a, const LiveRow& b) { return rank(a) > rank(b); });
  return rows;
}

std::size_t found_row(const LivePicture& picture, const LiveView& view, std::size_t after) {
  const std::vector<LiveRow> rows = shown_rows(picture, view);
  for (std::size_t i = 1; i <= rows.size(); ++i) {
    const std::size_t at = (after + i) % rows.size();
    const std::string& name = picture.names.of(*picture.reading.report, view.group, rows[at]);
    if (has(name, view.search)) return at;
  }
  return rows.size();
}

Screen live_screen(const LivePicture& picture, const LiveView& view, const ScreenSize& size,
                   const Page& page) {
  const Report& report = *picture.reading.report;
  Screen screen;
  screen.add(printable(head_of(picture, view), page), Style::reverse);
  if (view.shows_help) {
    add_help(screen);
  } else {
    for (const LiveGpu& device : live_gpus(report)) {
      if (device.used_bytes() == 0 && device.peak_bytes == 0) continue;
      add_device(report, device, size, page, screen);
    }
    add_host(report, screen);
    add_history(picture.history, size, page, screen);
    const std::size_t used = screen.lines.size() + 2;  // the tabs, and the last line
    add_rows(picture, view, size.lines > used ? size.lines - used : 0, size.columns, page, screen);
  }
  if (view.is_printed) return printed(std::move(screen), picture, page);
  screen.lines.resize(std::max<std::size_t>(size.lines, 1) - 1);
  screen.add(printable(last_line(picture, view, page), page), Style::reverse);
  screen.fit(size);
  return screen;
}

std::string next_of_ended(const LiveReading& reading, const Page& page) {
  if (!reading.is_reported) {
    return "recover " + std::to_string(reading.report->process.pid);
  }
  return "report " + shell_path(reading.next_report, page);
}

}  // namespace vramscope
