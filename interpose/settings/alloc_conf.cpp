// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/alloc_conf.h"

#include <locale.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "interpose/settings/options.h"
#include "interpose/settings/problems.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastSegmentMiB =
    10;  // a shared segment must hold the largest request that shares it
constexpr std::uint64_t kLeastSlackMiB = Limits::kLargeSegment / kMiB;
constexpr std::uint64_t kMostDivisions = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostRegisterThreads = 128;

struct Item {
  std::string_view name, value;
};

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// Not std::from_chars: libstdc++'s version for fractions needs the mathematics library, which the
// preloaded library must not use. Not strtod: the program may have set a locale with another
// decimal point.
template <>
std::optional<double> number(std::string_view text) {
  const bool begins_well = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (!begins_well) return std::nullopt;
  const std::string terminated(text);
  const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t{});
  if (plain == locale_t{}) return std::nullopt;
  char* rest = nullptr;
  const double value = strtod_l(terminated.c_str(), &rest, plain);
  freelocale(plain);
  return *rest == '\0' ? std::optional<double>(value) : std::nullopt;
}

// Reads a size in MiB. A size beyond any address counts as no limit.
std::optional<std::uint64_t> megabytes(std::string_view text, std::uint64_t above) {
  const std::optional<std::uint64_t> count = number<std::uint64_t>(text);
  if (!count || *count <= above) return std::nullopt;
  return std::min(*count, Limits::kUnlimited / kMiB) * kMiB;
}

std::optional<std::uint64_t> megabytes(std::string_view text) {
  return text == "0" ? 0 : megabytes(text, 0);
}

template <class Value>
bool assign(Value& target, const std::optional<Value>& value) {
  if (value) target = *value;
  return value.has_value();
}

bool read_fraction(std::string_view text, double& fraction) {
  const std::optional<double> value = number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1)) return false;
  fraction = *value;
  return true;
}

bool read_threshold(std::string_view text, double& threshold) {
  const std::optional<double> value = number<double>(text);
  if (!value || !(*value > 0 && *value < 1)) return false;
  threshold = *value;
  return true;
}

// The slack of oversize requests equals a large segment unless it is set.
bool read_large_segment(std::string_view text, Limits& limits) {
  const std::uint64_t before = limits.large_segment_size;
  if (!assign(limits.large_segment_size, megabytes(text, kLeastSegmentMiB))) return false;
  if (limits.max_non_split_rounding == before) {
    limits.max_non_split_rounding = limits.large_segment_size;
  }
  return true;
}

using Divisions = decltype(Limits::roundup_power2_divisions);

std::optional<std::uint32_t> division(std::string_view text) {
  const std::optional<std::uint32_t> count = number<std::uint32_t>(text);
  const bool fits = count && *count <= kMostDivisions && (*count & (*count - 1)) == 0;
  return fits ? count : std::nullopt;
}

// Returns the interval of a power of two in MiB; larger ones belong to the last.
std::optional<std::size_t> interval(std::string_view text) {
  const std::optional<std::uint64_t> count = number<std::uint64_t>(text);
  if (!count || !std::has_single_bit(*count)) return std::nullopt;
  return std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(*count)),
                               Limits::kIntervals - 1);
}

// Calls f for each part between commas outside brackets. If f returns false, stops.
template <class F>
bool each_part(std::string_view text, F&& f) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) depth += (text[i] == '[') - (text[i] == ']');
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (!f(text.substr(begin, i - begin))) return false;
    begin = i + 1;
  }
  return true;
}

// Reads "[256:1,512:2,>:4]". Intervals below the first named one get its value. ">" means the last
// named interval and all above it, as in PyTorch 2.6.
bool read_list(std::string_view text, Divisions& divisions) {
  Divisions result{};
  std::size_t last = 0;
  bool first = true;
  const bool good = each_part(text, [&](std::string_view part) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return false;
    const std::optional<std::uint32_t> count = division(part.substr(colon + 1));
    if (!count) return false;
    if (part.substr(0, colon) == ">") {
      std::fill(result.begin() + static_cast<std::ptrdiff_t>(last), result.end(), *count);
      return true;
    }
    const std::optional<std::size_t> at = interval(part.substr(0, colon));
    if (!at) return false;
    if (first) std::fill(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(*at), *count);
    first = false;
    result[*at] = *count;
    last = *at;
    return true;
  });
  if (good) divisions = result;
  return good;
}

bool read_divisions(std::string_view text, Divisions& divisions) {
  if (text.starts_with('[') && text.ends_with(']')) {
    return read_list(text.substr(1, text.size() - 2), divisions);
  }
  const std::optional<std::uint32_t> count = division(text);
  if (!count || *count == 0) return false;
  divisions.fill(*count);
  return true;
}

bool is_boolean(std::string_view text) {
  bool value = false;
  return read(text, value);
}

// A setting: how its value is read into the limits, and which values it accepts.
struct Row {
  std::string_view name;
  bool (*read)(std::string_view value, Limits& limits);
  const char* range;
};

constexpr Row kRows[] = {
    {"max_split_size_mb",
     [](std::string_view v, Limits& l) {
       return assign(l.max_split_size, megabytes(v, l.large_segment_size / kMiB));
     },
     "a number of MiB above large_segment_size_mb (20)"},
    {"max_non_split_rounding_mb",
     [](std::string_view v, Limits& l) {
       return assign(l.max_non_split_rounding, megabytes(v, kLeastSlackMiB));
     },
     "a number of MiB above 20"},
    {"large_segment_size_mb", read_large_segment, "a number of MiB above 10"},
    {"roundup_power2_divisions",
     [](std::string_view v, Limits& l) { return read_divisions(v, l.roundup_power2_divisions); },
     "a power of two, or a list of powers of two such as [256:1,512:2,>:4]"},
    {"garbage_collection_threshold",
     [](std::string_view v, Limits& l) {
       return read_threshold(v, l.garbage_collection_threshold);
     },
     "a number between 0 and 1, both excluded"},
    {"per_process_memory_fraction",
     [](std::string_view v, Limits& l) { return read_fraction(v, l.memory_fraction); },
     "a number from 0 to 1"},
    {"throw_on_cudamalloc_oom",
     [](std::string_view v, Limits& l) { return read(v, l.throw_on_cudamalloc_oom); },
     "True or False"},
    {"pinned_max_round_threshold_mb",
     [](std::string_view v, Limits& l) {
       return assign(l.pinned_max_round_threshold, megabytes(v));
     },
     "a number of MiB"},
    {"pinned_max_cached_size_mb",
     [](std::string_view v, Limits& l) { return assign(l.pinned_max_cached_size, megabytes(v)); },
     "a number of MiB"},
    {"expandable_segments",
     [](std::string_view v, Limits& l) { return read(v, l.expandable_segments); }, "True or False"},
    {"growing_segments", [](std::string_view v, Limits& l) { return read(v, l.growing_segments); },
     "True or False"},
    {"exact_fallback", [](std::string_view v, Limits& l) { return read(v, l.exact_fallback); },
     "True or False"},
};

// PyTorch's settings that are checked but have no effect here, with the reason.
struct Idle {
  std::string_view name;
  bool (*accepts)(std::string_view value);
  const char* range;
  const char* why;
};

constexpr const char* kOfPyTorch = "it belongs to --policy pytorch";
constexpr const char* kReserved = "9/8 of the device are reserved";
constexpr const char* kPinning = "pinned memory is obtained as the program asks for it";

constexpr Idle kIdle[] = {
    {"backend", [](std::string_view v) { return v == "native" || v == "cudaMallocAsync"; },
     "native or cudaMallocAsync", "the calls of the program decide"},
    {"expandable_segments_reserve", [](std::string_view v) { return !v.empty(); },
     "a number or a size", kReserved},
    {"expandable_segments_reserve_by_class", [](std::string_view v) { return !v.empty(); },
     "a list", kReserved},
    {"release_lock_on_cudamalloc", is_boolean, "True or False",
     "no lock is held during a driver call"},
    {"release_lock_on_hipmalloc", is_boolean, "True or False",
     "no lock is held during a driver call"},
    {"graph_capture_record_stream_reuse", is_boolean, "True or False",
     "no block is reused during a capture"},
    {"pinned_use_background_threads", is_boolean, "True or False", "there is nothing to poll"},
    {"pinned_use_cuda_host_register", is_boolean, "True or False", kPinning},
    {"pinned_use_hip_host_register", is_boolean, "True or False", kPinning},
    {"pinned_num_register_threads",
     [](std::string_view v) {
       const std::optional<std::uint64_t> count = number<std::uint64_t>(v);
       return count && std::has_single_bit(*count) && *count <= kMostRegisterThreads;
     },
     "a power of two up to 128", kPinning},
    {"pinned_reserve_segment_size_mb", [](std::string_view v) { return megabytes(v).has_value(); },
     "a number of MiB", kPinning},
    {"pinned_free_catch_all", is_boolean, "True or False", "a free does not throw"},
};

std::string nearest(std::string_view unknown) {
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  const auto consider = [&](std::string_view name) {
    const std::size_t d = edit_distance(unknown, name);
    if (d >= best_distance) return;
    best_distance = d;
    best = name;
  };
  for (const Row& row : kRows) consider(row.name);
  for (const Idle& idle : kIdle) consider(idle.name);
  return std::string(best);
}

std::string quoted(const Item& item) { return shown(item.name) + ":" + shown(item.value); }

struct Found {
  Problems problems;
  Problems notes;
};

void note(const Item& item, const char* why, Found& found) {
  found.notes.add(
      [&] { return "allocator setting " + quoted(item) + " has no effect here: " + why; });
}

// Whether an accepted value has no effect under the policy.
bool is_without_effect(const Limits& limits, const Limits& before) {
  return limits != before && limits.under_policy() == before.under_policy();
}

std::string unknown(std::string_view name) {
  const std::string line = "unknown allocator setting '" + shown(name) + "' ignored";
  return name.size() > kLongestMisspelt ? line : line + "; nearest is " + nearest(name);
}

std::string excludes(const Item& item, const Limits& before) {
  const char* other = before.expandable_segments ? "expandable_segments" : "growing_segments";
  return "allocator setting " + quoted(item) + " cannot be combined with " + other +
         ":True; keeping what was set before";
}

void apply(const Item& item, AllocConf& conf, Found& found) {
  const auto refuse = [&](const char* range) {
    found.problems.add([&] {
      return "allocator setting " + quoted(item) + " is not " + range +
             "; keeping what was set before";
    });
  };
  for (const Row& row : kRows) {
    if (row.name != item.name) continue;
    const Limits before = conf.limits;
    if (!row.read(item.value, conf.limits)) return refuse(row.range);
    if (conf.limits.expandable_segments && conf.limits.growing_segments) {
      conf.limits = before;
      return found.problems.add([&] { return excludes(item, before); });
    }
    if (is_without_effect(conf.limits, before)) note(item, kOfPyTorch, found);
    return;
  }
  for (const Idle& idle : kIdle) {
    if (idle.name != item.name) continue;
    return idle.accepts(item.value) ? note(item, idle.why, found) : refuse(idle.range);
  }
  found.problems.add([&] { return unknown(item.name); });
}

}  // namespace

AllocConf parse_alloc_conf(std::string_view text, const Limits& before) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  AllocConf conf;
  conf.limits = before;
  conf.limits.max_split_size = Limits::kUnlimited;
  conf.limits.roundup_power2_divisions = {};
  conf.limits.garbage_collection_threshold = 0;

  std::vector<Item> items;
  each_part(plain, [&](std::string_view part) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    if (!part.empty())
      items.push_back({part.substr(0, colon), part.substr(std::min(colon + 1, part.size()))});
    return true;
  });
  // The size of a large segment bounds max_split_size_mb, so it is read first.
  std::stable_partition(items.begin(), items.end(),
                        [](const Item& i) { return i.name == "large_segment_size_mb"; });
  Found found;
  for (const Item& item : items) apply(item, conf, found);
  conf.problems = std::move(found.problems).lines();
  conf.notes = std::move(found.notes).lines();
  return conf;
}

}  // namespace vramscope
