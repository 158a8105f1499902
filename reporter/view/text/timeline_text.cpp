// Puts plots, marks and ranges one below the other.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/timeline_text.h"

#include <algorithm>
#include <array>

#include "allocator/ground/place.h"
#include "reporter/view/text/digest.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastRows = 4;  // also of what never changes
constexpr std::size_t kMostRows = 10;
constexpr std::size_t kMostColumns = 400;
constexpr std::size_t kMarksShown = 5;
constexpr std::size_t kRangesShown = 5;

std::string line(const std::string& text, const Page& page) {
  return fitted("  " + text, page) + "\n";
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

  [[nodiscard]] std::string curve(const RunCurve& curve, std::size_t rows) {
    const std::vector<std::uint64_t> values = values_of(curve);
    const BytesAxis axis = axis_for(values, rows, look_.scale);
    const std::uint64_t highest = *std::max_element(values.begin(), values.end());
    const std::string title = memory_text(curve.kind, curve.device) + ": at most " +
                              amount_text(highest) + ", " +
                              amount_text(curve.last_at(timeline_.to_ns)) + " " + end() + " (" +
                              (axis.is_log ? "log" : "linear") + " scale)";
    is_log_ = is_log_ || axis.is_log;
    return coloured(fitted(title, page_), Colour::bold, page_) + "\n" +
           area_text(values, axis, page_);
  }

  // What each process held when it ended does not count afterwards.
  [[nodiscard]] std::string end() const {
    const bool is_whole = timeline_.to_ns >= timeline_.length_ns;
    if (timeline_.end_of_several.empty() || !is_whole) return "at the end";
    return "after all processes " + timeline_.end_of_several;
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
  [[nodiscard]] std::string marks() const {
    std::string row(columns_, ' ');
    std::string meanings;
    std::size_t told = 0;
    for (const RunMark& mark : timeline_.marks) {
      row[column(mark.at_ns)] = sign_of(mark);
      if (told++ < kMarksShown) meanings += line(meaning(mark), page_);
    }
    if (told == 0) return "";
    if (told > kMarksShown) meanings += line(counted(told - kMarksShown, "more mark"), page_);
    row.erase(row.find_last_not_of(' ') + 1);
    return "     marks  " + row + "\n" + meanings;
  }

  [[nodiscard]] std::string ranges() const {
    std::string result;
    for (std::size_t i = 0; i < std::min(kRangesShown, timeline_.ranges.size()); ++i) {
      const RunRange& range = timeline_.ranges[i];
      std::string row(columns_, ' ');
      for (const auto& [from, to] : range.spans) {
        for (std::size_t at = column(from); at <= column(to); ++at) row[at] = '=';
      }
      row.erase(row.find_last_not_of(' ') + 1);
      result +=
          std::string(kAxisColumns, ' ') + row + "\n" + line(printable(range.name, page_), page_);
    }
    if (result.empty()) return "";
    const std::size_t more =
        timeline_.ranges.size() - std::min(kRangesShown, timeline_.ranges.size());
    if (more != 0) result += line("and " + counted(more, "more range"), page_);
    return "    ranges  from their first to their last allocation\n" + result;
  }

 private:
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

  static char sign_of(const RunMark& mark) {
    switch (mark.what) {
      case RunMark::What::peak:
        return '^';
      case RunMark::What::refused:
        return '!';
      case RunMark::What::reset:
        return 'x';
    }
    return '?';
  }

  [[nodiscard]] std::string meaning(const RunMark& mark) const {
    const std::string when = std::string(1, sign_of(mark)) + " " + duration_text(mark.at_ns) + ": ";
    const std::string memory = memory_text(mark.kind, mark.device);
    switch (mark.what) {
      case RunMark::What::peak:
        return when + "peak of " + memory + (mark.is_bound ? ", at most " : ", ") +
               amount_text(mark.bytes);
      case RunMark::What::refused:
        return when + (mark.bytes == 0 ? "an allocation" : amount_text(mark.bytes)) + " of " +
               memory + " refused";
      case RunMark::What::reset:
        return when + printable(mark.text, page_) + " ended all memory of a context";
    }
    return when;
  }

  const RunTimeline& timeline_;
  const TimelineLook& look_;
  const Page& page_;
  std::size_t columns_ = 0;
  double length_ = 1;
  bool is_log_ = false;  // one of the curves
};

std::string title_of(const RunTimeline& timeline) {
  std::string title;
  if (timeline.start_ns != 0) title = "From " + time_text(timeline.start_ns) + " on, ";
  title += duration_text(timeline.length_ns) + ", requested bytes";
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
  for (std::size_t i = 0; i < shown; ++i) flat += window.is_flat(timeline.curves[i]) ? 1 : 0;
  const std::size_t taken = shown + flat * kLeastRows;  // titles, and what is flat
  const std::size_t room = lines - std::min(lines, taken);
  const std::size_t rows =
      std::clamp(room / std::max<std::size_t>(shown - flat, 1), kLeastRows, kMostRows);
  std::string result;
  for (std::size_t i = 0; i < shown; ++i) {
    const RunCurve& curve = timeline.curves[i];
    result += window.curve(curve, window.is_flat(curve) ? kLeastRows : rows);
  }
  return result;
}

}  // namespace

std::string timeline_text(const RunTimeline& timeline, const TimelineLook& look, const Page& page) {
  constexpr std::size_t kOtherLines = 5;  // the title, a scale, the next command, the prompt
  const std::size_t shown = rows_shown(timeline.curves.size(), look.most);
  std::string result = coloured(fitted(title_of(timeline), page), Colour::bold, page) + "\n";
  if (shown == 0) {
    return result + (page.filters.empty() ? "  Nothing was allocated.\n"
                                          : "  " + std::string(kNothingPasses) + "allocated.\n");
  }
  Window window(timeline, look, page);
  const std::string below = window.time_axis() + window.marks() + window.ranges();
  std::string last;
  if (shown < timeline.curves.size()) {
    last = line("and " + counted(timeline.curves.size() - shown, "more curve") + ": -n 0", page);
  }
  last += resolution_text(timeline, page);
  const std::string around = below + last;
  const std::size_t taken =
      kOtherLines + static_cast<std::size_t>(std::count(around.begin(), around.end(), '\n'));
  result += curves_text(timeline, window, shown, look.lines - std::min(look.lines, taken));
  return result + below + window.scale() + last;
}

}  // namespace vramscope
