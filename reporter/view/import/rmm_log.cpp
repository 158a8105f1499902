// RMM's log of allocations: comma separated values, one call a line.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

constexpr std::string_view kRefused = "allocate failure";
constexpr std::uint64_t kMostOfAllocation = std::uint64_t{1} << 50;  // of an allocation: a PiB
constexpr std::string_view kTitlesOfAll =
    "Action,Pointer,Size";  // in the first line of each version's
constexpr std::uint64_t kDayNs = 86'400ULL * 1'000'000'000;

// Of "0x7f12", "4711"; "(nil)" is nothing, too.
std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text == "(nil)" || text.empty()) return 0;
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Of seconds and microseconds, "1634567890.123456".
std::optional<std::uint64_t> seconds_of(std::string_view text) {
  std::uint64_t seconds = 0, us = 0;
  const char* const end = text.data() + text.size();
  const auto whole = std::from_chars(text.data(), end, seconds);
  if (whole.ec != std::errc() || whole.ptr == end || *whole.ptr != '.') return std::nullopt;
  const auto rest = std::from_chars(whole.ptr + 1, end, us);
  if (rest.ec != std::errc() || rest.ptr != whole.ptr + 7 || rest.ptr != end) return std::nullopt;
  return seconds % (1U << 31) * 1'000'000'000 + us * 1000;
}

// Of "13:45:59:123456" in nanoseconds; some versions have other characters between the numbers, or
// seconds alone.
std::optional<std::uint64_t> time_of(std::string_view text) {
  if (const auto seconds = seconds_of(text)) return seconds;
  std::array<std::uint64_t, 4> parts{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto end = std::from_chars(text.data() + at, text.data() + text.size(), parts[i]);
    if (end.ec != std::errc() || parts[i] > 999'999) return std::nullopt;
    at = static_cast<std::size_t>(end.ptr - text.data());
    const bool is_last = i + 1 == parts.size();
    if (is_last ? at != text.size() : at++ >= text.size()) return std::nullopt;
  }
  return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1'000'000'000 + parts[3] * 1000;
}

class Log {
 public:
  Log(std::string_view bytes, ImportedRun& run)
      : rest_(bytes), run_(run), names_(run.names, "RMM") {}

  std::string read() {
    std::string_view line;
    if (!next(line) || !read_titles(line)) return "line 1: expected Action, Pointer and Size";
    while (next(line)) {
      if (line.empty() && is_whole_) continue;
      const std::string_view end = end_before(line);
      if (!end.empty()) {
        const bool is_alone =
            !line.empty() && line.front() >= 'A';  // not behind a line that was cut
        if (run_.events.empty() && is_whole_ && is_alone && read_titles(line))
          continue;  // of a run of nothing
        run_.names.warnings.push_back("line " + std::to_string(number_) + " " + std::string(end) +
                                      ": the log is read up to there");
        run_.is_cut_off = !is_whole_;
        break;
      }
      const std::string expected = add(line);
      if (!expected.empty()) return "line " + std::to_string(number_) + ": expected " + expected;
    }
    run_.has_history = true;
    run_.has_dates = false;
    run_.source = "a log of RMM";
    run_.names.warnings.emplace_back(
        "RMM's log has neither call stacks nor devices nor dates, nor what was reserved: all is of "
        "GPU 0, and what was requested is shown as reserved, which is that much at least");
    return "";
  }

 private:
  enum Column : std::size_t { thread, time, action, pointer, size, stream, kColumns };

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    is_whole_ = end != rest_.size();
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }

  // Why the run's log ends before this line; "": it goes on. A line that is cut may look like one.
  [[nodiscard]] std::string_view end_before(std::string_view line) const {
    if (line.find('\0') != line.npos) return "has zero bytes, as a crash leaves them";
    if (line.find(kTitlesOfAll) != line.npos) return "begins another run";
    return is_whole_ ? "" : "is cut off";
  }

  template <class Take>
  static void each_cell(std::string_view line, Take take) {
    for (std::size_t i = 0;; ++i) {
      const std::size_t comma = line.find(',');
      take(i, line.substr(0, comma));
      if (comma == line.npos) return;
      line.remove_prefix(comma + 1);
    }
  }

  bool read_titles(std::string_view line) {
    cells_.fill(kNone);
    constexpr std::array<std::string_view, kColumns> kTitles{"Thread",  "Time", "Action",
                                                             "Pointer", "Size", "Stream"};
    each_cell(line, [&](std::size_t cell, std::string_view title) {
      for (std::size_t i = 0; i < kColumns; ++i) {
        if (title == kTitles[i]) cells_[i] = cell;
      }
    });
    return cells_[action] != kNone && cells_[pointer] != kNone && cells_[size] != kNone;
  }

  std::string add(std::string_view line) {
    std::array<std::string_view, kColumns> row{};
    each_cell(line, [&](std::size_t cell, std::string_view text) {
      for (std::size_t i = 0; i < kColumns; ++i) {
        if (cells_[i] == cell) row[i] = text;
      }
    });
    const auto address = number_of(row[pointer]);
    const auto bytes = number_of(row[size]);
    const auto who = number_of(row[thread]);
    const auto where = number_of(row[stream]);
    const auto when = cells_[time] == kNone ? 0 : time_of(row[time]);
    const bool has_size = !row[size].empty() || row[action] != "allocate";
    if (!address || !bytes || !who || !where || !has_size)
      return "numbers for pointer, size, thread and stream";
    if (!when) return "a time such as 13:45:59:123456";
    const bool is_refused = row[action] == kRefused;  // what was refused may be of any size
    if (*bytes > kMostOfAllocation && !is_refused) return "sizes below 1 PiB";
    ImportedEvent event{.time_ns = monotonic(*when), .address = *address, .bytes = *bytes};
    event.thread = *who == 0 ? 0 : names_.thread(static_cast<std::int64_t>(*who));
    return take(row[action], event, names_.stream(*where));
  }

  std::string take(std::string_view what, ImportedEvent& event, std::uint32_t on) {
    using enum ImportedEvent::What;
    event.tag =
        names_.tag({.place = {}, .thread = event.thread, .stream = on, .bytes = event.bytes});
    if (what == "allocate") {
      live_[event.address] = {event.tag, event.bytes};
    } else if (what == "free" || what == "deallocate") {
      event.what = went;
      const auto found = live_.find(event.address);
      if (found == live_.end()) {  // allocated before the log began
        run_.begins_late |= event.address != 0;
        return "";
      }
      event.tag = found->second.tag;
      event.bytes = found->second.bytes;  // whatever the line of its free says
      live_.erase(found);
    } else if (what == kRefused) {
      event.what = refused;
    } else {
      return "allocate, free or allocate failure";
    }
    run_.events.push_back(event);
    return "";
  }

  // Of a log that goes on after midnight.
  std::uint64_t monotonic(std::uint64_t of_day) {
    if (of_day + days_ + kDayNs / 2 < last_) days_ += kDayNs;
    last_ = std::max(last_, of_day + days_);
    return last_;
  }

  static constexpr std::size_t kNone = ~std::size_t{0};
  std::string_view rest_;
  ImportedRun& run_;
  ImportedNames names_;
  std::array<std::size_t, kColumns> cells_{kNone, kNone, kNone, kNone, kNone, kNone};
  std::uint64_t number_ = 0;
  bool is_whole_ = true;  // the line just taken: it has its end
  std::uint64_t days_ = 0;
  std::uint64_t last_ = 0;
  struct Live {
    Tag tag = 0;
    std::uint64_t bytes = 0;
  };
  std::unordered_map<Address, Live> live_;
};

}  // namespace

std::string read_rmm_log(std::string_view bytes, ImportedRun& run) {
  return Log(bytes, run).read();
}

}  // namespace vramscope
