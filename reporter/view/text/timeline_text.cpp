// Puts plots, marks and ranges one below the other.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/timeline_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "allocator/base/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/text/timeline_marks.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastRows = 4;  // also of what never changes
constexpr std::size_t kMostRows = 10;
constexpr std::size_t kMostColumns = 400;
constexpr std::size_t kNamedShown = 8;

// How many there is room for at most.
struct Shown {
  std::size_t marks = 5;
  std::size_t ranges = 5;
};
constexpr Shown kFewer[] = {{}, {.marks = 3, .ranges = 3}, {.marks = 2, .ranges = 1}};

std::string line(const std::string& text, const Page& page) {
  return fitted("  " + text, page) + "\n";
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Everything below one axis of time.
class Window {
 public:
  Window(const RunTimeline& timeline, const TimelineLook& look, const Page& page)
      : timeline_(timeline), look_(look), page_(page) {
    const std::size_t width = std::min(page.width, kMostColumns);
    columns_ = width > 2 * kAxisColumns ? width - kAxisColumns - 1 : kAxisColumns;
    length_ = static_cast<double>(timeline.to_ns - timeline.from_ns);
  }

  // Whether it is one height from its first bytes to its last.
  [[nodiscard]] bool is_flat(const RunCurve& curve) const {
    std::vector<std::uint64_t> values = values_of(curve);
    std::erase(values, 0);
    return std::all_of(values.begin(), values.end(),
                       [&](std::uint64_t value) { return value == values.front(); });
  }

  // Curves of one device are compared with each other: all on one scale, log where one needs it.
  void take_scales(std::span<const RunCurve> curves, std::size_t rows) {
    rows_ = rows;
    for (const RunCurve& curve : curves) {
      if (takes_device_memory(curve.kind) && has_log_axis(curve)) log_devices_.insert(curve.device);
    }
  }

  [[nodiscard]] bool is_log(const RunCurve& curve) const {
    const bool is_shared = takes_device_memory(curve.kind) && look_.scale == Scale::automatic;
    return is_shared ? log_devices_.contains(curve.device) : has_log_axis(curve);
  }

  [[nodiscard]] std::string title(const RunCurve& curve) const {
    const std::vector<std::uint64_t> values = values_of(curve);
    const auto highest = std::max(
        {*std::ranges::max_element(values), curve.most_bytes, curve.last_at(timeline_.to_ns)});
    return sentence(whose_memory(curve) + ": at most " + amount_text(highest) + ", " +
                        amount_text(curve.last_at(timeline_.to_ns)) + " " + end() + " (" +
                        (is_log(curve) ? "log" : "linear") + " scale)",
                    Colour::bold, page_);
  }

  [[nodiscard]] std::string curve(const RunCurve& curve) {
    const std::vector<std::uint64_t> values = values_of(curve);
    const BytesAxis axis =
        axis_for(values, rows_of(curve), is_log(curve) ? Scale::log : Scale::linear);
    is_log_ = is_log_ || axis.is_log;
    return title(curve) + area_text(values, axis, page_);
  }

  // Whether it is nearly all of what the device's kinds held together, all the time.
  [[nodiscard]] bool is_nearly(const RunCurve& curve, const RunCurve& all) const {
    constexpr std::uint64_t kOneOf = 10;
    if (!all.is_of_all_kinds || curve.is_of_all_kinds || curve.device != all.device) return false;
    const std::vector<std::uint64_t> values = values_of(curve), sums = values_of(all);
    const std::uint64_t near = *std::max_element(sums.begin(), sums.end()) / kOneOf;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (sums[i] > values[i] + near) return false;
    }
    return takes_device_memory(curve.kind);
  }

  // What a process held when it ended does not count afterwards. What it held when it wrote its
  // report and went on does.
  [[nodiscard]] std::string end() const {
    if (timeline_.to_ns < timeline_.length_ns) return "at " + duration_text(timeline_.to_ns);
    return timeline_.end_of_several.empty() ? "at the end" : timeline_.end_of_several;
  }

  [[nodiscard]] std::string time_axis() const {
    return time_axis_text(timeline_.from_ns, timeline_.to_ns, columns_, page_);
  }

  // Why a scale is what nobody asked for.
  [[nodiscard]] std::string scale() const {
    if (!is_log_ || look_.scale == Scale::log) return "";
    return line("a log scale, for on a linear one most would be flat: --scale linear", page_);
  }

  // A line with the signs, and what they mean.
  [[nodiscard]] std::string marks(std::size_t most) const {
    if (timeline_.marks.empty()) return "";
    std::string row(columns_, ' ');
    for (const RunMark& mark : timeline_.marks) {
      char& sign = row[column(mark.at_ns)];
      if (sign == ' ' || mark.what != RunMark::What::peak) sign = sign_of(mark);
    }
    std::string meanings;
    const std::vector<RunMark> told = told_marks(timeline_.marks, most);
    for (const RunMark& mark : told) meanings += line(mark_text(mark, page_), page_);
    const std::size_t more = timeline_.marks.size() - told.size();
    if (more != 0) meanings += line("and " + counted(more, "more mark"), page_);
    row.erase(row.find_last_not_of(' ') + 1);
    return "     marks  " + row + "\n" + meanings;
  }

  // A line with those that the program set, each with as much of its name as there is room for
  // before the next one, and one with their times.
  [[nodiscard]] std::string named() const {
    std::string times;
    const std::size_t shown = std::min(timeline_.named.size(), kNamedShown);
    for (std::size_t i = 0; i < shown; ++i) {
      const NamedInstant& mark = timeline_.named[i];
      times +=
          (i == 0 ? "| " : ", ") + duration_text(mark.time_ns) + ": " + printable(mark.name, page_);
    }
    const std::size_t more = timeline_.named.size() - shown;
    if (more != 0) times += ", and " + counted(more, "more mark") + " (--json)";
    if (timeline_.unnamed_marks != 0) {
      times += (shown == 0 ? "" : "; ") + counted(timeline_.unnamed_marks, "mark") +
               " of the program of which the time was not kept";
    }
    if (times.empty()) return "";
    const std::string drawn = shown == 0 ? "" : "     named  " + names_row() + "\n";
    return drawn + paragraph(times, page_);
  }

  [[nodiscard]] std::string ranges(std::size_t most) const {
    std::string result;
    for (std::size_t i = 0; i < std::min(most, timeline_.ranges.size()); ++i) {
      const RunRange& range = timeline_.ranges[i];
      std::string row(columns_, ' ');
      for (const auto& [from, to] : range.spans) {
        for (std::size_t at = column(from); at <= column(to); ++at) row[at] = '=';
      }
      row.erase(row.find_last_not_of(' ') + 1);
      result += named_bar(printable(range.name, page_), row);
    }
    if (result.empty()) return "";
    const std::size_t more = timeline_.ranges.size() - std::min(most, timeline_.ranges.size());
    if (more != 0) result += line("and " + counted(more, "more range"), page_);
    return "    ranges  from their first to their last allocation\n" + result;
  }

 private:
  [[nodiscard]] bool has_log_axis(const RunCurve& curve) const {
    return axis_for(values_of(curve), rows_of(curve), look_.scale).is_log;
  }
  [[nodiscard]] std::size_t rows_of(const RunCurve& curve) const {
    return is_flat(curve) ? kLeastRows : rows_;
  }
  // "==== load" or "load ====", else the name first: below it would be read as the next one's.
  [[nodiscard]] std::string named_bar(const std::string& name, std::string row) const {
    const std::string margin(kAxisColumns, ' ');
    const std::size_t wide = columns(name), before = row.find_first_not_of(' ');
    if (row.size() + 1 + wide <= columns_) return margin + row + " " + name + "\n";
    if (before > wide) {
      row.replace(before - wide - 1, wide, name);
      return margin + row + "\n";
    }
    return line(name, page_) + margin + row + "\n";
  }
  // Of several in one column the last one.
  [[nodiscard]] std::string names_row() const {
    constexpr std::size_t kLeastName = 4;
    std::string row;
    for (std::size_t i = 0; i < timeline_.named.size(); ++i) {
      const std::size_t at = column(timeline_.named[i].time_ns);
      const bool is_last = i + 1 == timeline_.named.size();
      const std::size_t next = is_last ? columns_ : column(timeline_.named[i + 1].time_ns);
      if (next == at) continue;
      const std::size_t room = next - at - (is_last ? 1 : 2);
      while (columns(row) < at) row += ' ';
      row += "|";
      if (next > at + 1 && room >= kLeastName)
        row += fitted(printable(timeline_.named[i].name, page_), room);
    }
    return row;
  }
  [[nodiscard]] std::vector<std::uint64_t> values_of(const RunCurve& curve) const {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < columns_; ++i) {
      values.push_back(curve.highest_between(instant(i), instant(i + 1)));
    }
    return values;
  }
  [[nodiscard]] std::uint64_t instant(std::size_t column) const {
    const double share = static_cast<double>(column) / static_cast<double>(columns_);
    return timeline_.from_ns + static_cast<std::uint64_t>(share * length_);
  }
  [[nodiscard]] std::size_t column(std::uint64_t at) const {
    const double share = static_cast<double>(at - timeline_.from_ns) / length_;
    return std::min(columns_ - 1, static_cast<std::size_t>(share * static_cast<double>(columns_)));
  }

  const RunTimeline& timeline_;
  const TimelineLook& look_;
  const Page& page_;
  std::size_t columns_ = 0;
  double length_ = 1;
  bool is_log_ = false;           // one of the curves
  std::size_t rows_ = kMostRows;  // of a curve that is not flat
  std::set<std::uint16_t> log_devices_;
};

std::string title_of(const RunTimeline& timeline) {
  if (timeline.is_snapshot) return "A snapshot without history, requested bytes";
  std::string title = duration_text(timeline.length_ns);
  if (timeline.start_ns != 0) title += " from " + time_text(timeline.start_ns);
  title += ", requested bytes";
  if (timeline.from_ns != 0 || timeline.to_ns != timeline.length_ns) {
    title +=
        "; shown from " + duration_text(timeline.from_ns) + " to " + duration_text(timeline.to_ns);
  }
  return title;
}

// Of a window that is smaller than what a report's buckets tell.
std::string resolution_text(const RunTimeline& timeline, const Page& page) {
  constexpr std::uint64_t kLeastBuckets = 20;
  if (timeline.is_of_trace) return "";
  std::uint64_t bucket = 0;
  for (const RunCurve& curve : timeline.curves) bucket = std::max(bucket, curve.bucket_ns);
  if ((timeline.to_ns - timeline.from_ns) / std::max<std::uint64_t>(bucket, 1) >= kLeastBuckets) {
    return "";
  }
  return line("one value in " + duration_text(bucket) + "; run --trace has all", page);
}

// Draws the curves in so many lines; what never changes leaves its room to the others.
std::string curves_text(const RunTimeline& timeline, Window& window, std::size_t shown,
                        std::size_t lines) {
  std::size_t flat = 0;
  std::size_t taken = 0;  // by titles, and by what is flat
  for (std::size_t i = 0; i < shown; ++i) {
    flat += window.is_flat(timeline.curves[i]) ? 1 : 0;
    taken += lines_in(window.title(timeline.curves[i]));
  }
  taken += flat * kLeastRows;
  const std::size_t room = lines - std::min(lines, taken);
  const std::size_t rows =
      std::clamp(room / std::max<std::size_t>(shown - flat, 1), kLeastRows, kMostRows);
  const auto curves = std::span(timeline.curves).first(shown);
  window.take_scales(curves, rows);
  std::string result;
  for (const RunCurve& curve : curves) result += window.curve(curve);
  return result;
}

// "and 2 more curves: -n 0 draws GPU 0 managed, pinned".
std::string hidden_text(std::span<const RunCurve> hidden, const Page& page) {
  std::string names;
  for (const RunCurve& curve : hidden) names += (names.empty() ? "" : ", ") + whose_memory(curve);
  return paragraph("and " + counted(hidden.size(), "more curve") + ": -n 0 draws " + names, page);
}

// Where not all are drawn, a curve that is nearly another one goes last.
RunTimeline in_order(const RunTimeline& timeline, const TimelineLook& look, const Page& page) {
  RunTimeline ordered = timeline;
  const Window window(timeline, look, page);
  std::stable_partition(ordered.curves.begin(), ordered.curves.end(), [&](const RunCurve& curve) {
    return std::none_of(timeline.curves.begin(), timeline.curves.end(),
                        [&](const RunCurve& all) { return window.is_nearly(curve, all); });
  });
  return ordered;
}

// Of the first `curves` curves, with what is below them, in the lines there are; if not, as few as
// can be.
std::string plots_text(const RunTimeline& timeline, const TimelineLook& look, std::size_t curves,
                       const Shown& shown, const Page& page) {
  constexpr std::size_t kOtherLines = 5;  // the title, a scale, the next command, the prompt
  Window window(timeline, look, page);
  const std::string below =
      window.time_axis() + window.marks(shown.marks) + window.named() + window.ranges(shown.ranges);
  std::string last;
  if (curves < timeline.curves.size()) {
    last = hidden_text(std::span(timeline.curves).subspan(curves), page);
  }
  last += resolution_text(timeline, page);
  const std::size_t taken = kOtherLines + lines_in(below) + lines_in(last);
  const std::size_t left = look.lines - std::min(look.lines, taken);
  const std::string plots = curves_text(timeline, window, curves, left);
  return plots + below + window.scale() + last;
}

// Fewer marks and ranges yield before the second curve does.
std::string fitting_plots(const RunTimeline& timeline, const TimelineLook& look, std::size_t curves,
                          const Page& page) {
  constexpr std::size_t kAround = 4;  // the title, the next command, the prompt
  std::string text;
  for (std::size_t fewer = curves; fewer > 0; --fewer) {
    for (const Shown& shown : kFewer) {
      text = plots_text(timeline, look, fewer, shown, page);
      if (lines_in(text) + kAround <= look.lines) return text;
      if (fewer > 2) break;
    }
  }
  return text;
}

}  // namespace

Document timeline_text(const RunTimeline& timeline, const TimelineLook& look, const Page& page) {
  const std::size_t curves = rows_shown(timeline.curves.size(), look.most);
  Document text;
  text.title(title_of(timeline));
  if (curves == 0) {
    if (page.filters.empty()) {
      text.paragraph("Nothing was allocated.");
    } else {
      text.nothing("  " + std::string(kNothingPasses) + "allocated.");
    }
    return text;
  }
  if (timeline.is_snapshot) {
    for (std::size_t i = 0; i < curves; ++i) {
      const RunCurve& curve = timeline.curves[i];
      text.paragraph(whose_memory(curve) + ": " + amount_text(curve.last_at(timeline.to_ns)) +
                     " at the snapshot");
    }
    return text;
  }
  TimelineLook rest = look;
  rest.lines -= std::min(rest.lines, DocumentSize(text, page).lines({}) - 1);
  const bool has_all = curves == timeline.curves.size() && !look.must_fit;
  const RunTimeline drawn = has_all ? timeline : in_order(timeline, rest, page);
  text.drawing(look.must_fit ? fitting_plots(drawn, rest, curves, page)
                             : plots_text(drawn, rest, curves, {}, page));
  return text;
}

}  // namespace vramscope
