// Recovers the oldest until the rest keeps to the limits.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/earlier.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "reporter/report/live/recover_file.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/left_overs.h"
#include "reporter/view/text/left_overs_text.h"

namespace vramscope {
namespace {

constexpr std::int64_t kReadByNs = std::int64_t{60} * 1'000'000'000;
constexpr std::int64_t kDayNs = std::int64_t{24} * 3600 * 1'000'000'000;

std::int64_t age_ns(const LeftOvers::File& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count() - file.changed_ns;
}

bool is_older(const LeftOvers::File& file, unsigned days) {
  return days != 0 && age_ns(file) > days * kDayNs;
}

// The `run` of such a process learns from it where the report is, as soon as that has ended.
void clear_unneeded(const LeftOvers& left) {
  for (const LeftOvers::File& file : left.unneeded) {
    if (age_ns(file) > kReadByNs) static_cast<void>(recover_file(file.path, {}));
  }
}

bool is_too_much(std::uint64_t bytes, const LeftOvers& left, unsigned percent) {
  return percent != 0 && left.system != 0 && bytes > left.system / 100 * percent;
}

// What is neither a number, of at most `most`, nor "off".
WhyNot limit(unsigned most) {
  return [most](const std::string& given) -> std::string {
    if (given == "off") return "";
    const bool is_number = not_a_count(given).empty() && given.size() < 10;
    if (is_number && std::stoul(given) <= most) return "";
    return "'" + given + "' is not from 0 to " + std::to_string(most) + ", or off";
  };
}

unsigned limit_of(const std::string& given) {
  return given == "off" ? 0 : static_cast<unsigned>(std::strtoul(given.c_str(), nullptr, 10));
}

}  // namespace

void add_earlier_options(Command& command, EarlierWish& wish) {
  constexpr unsigned kMostDays = 100'000;
  command.option("--recover-after", &wish.days,
                 "Recover reports of programs killed at least DAYS days ago; 0 or off: never",
                 {.value_name = "DAYS", .why_not = limit(kMostDays), .shows_default = true});
  command.option("--recover-above", &wish.percent,
                 "Recover the oldest if live files exceed PERCENT of disk; 0: never",
                 {.value_name = "PERCENT", .why_not = limit(100), .shows_default = true});
}

std::string recover_earlier(const EarlierWish& wish, Told told) {
  const unsigned days = limit_of(wish.days);
  const unsigned percent = limit_of(wish.percent);
  const LeftOvers before = left_overs();
  clear_unneeded(before);
  std::uint64_t bytes = before.bytes;
  std::size_t recovered = 0;
  for (const LeftOvers::File& file : before.files) {
    if (!is_older(file, days) && !is_too_much(bytes, before, percent)) break;
    if (recover_file(file.path, {}).result != Recovery::Result::recovered) continue;
    bytes -= file.bytes;
    ++recovered;
  }
  std::string text;
  if (recovered != 0) {
    text = "; recovered " + counted(recovered, "report") + " of programs that were killed earlier";
  }
  const LeftOvers left = recovered == 0 ? before : left_overs();
  const std::string hint = left_overs_hint(left);
  if (hint.empty() || (recovered == 0 && !are_news(left))) return text;
  if (told == Told::yes) note_told(left);
  return text + "; " + hint;
}

}  // namespace vramscope
