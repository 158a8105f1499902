// Leaves out of a report what a listing is not about.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/filter.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/record/stack/owners.h"
#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/site_numbers.h"
#include "reporter/view/text/suppressions.h"

namespace vramscope {

struct Pattern::Compiled {
  Compiled() = default;
  ~Compiled() {
    if (is_good) regfree(&expression);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  regex_t expression{};
  bool is_good = false;
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_shared<Compiled>()) {
  const int error = regcomp(&compiled_->expression, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  compiled_->is_good = error == 0;
  if (error == 0) return;
  std::array<char, 256> reason{};
  regerror(error, &compiled_->expression, reason.data(), reason.size());
  problem_ = "'" + expression + "' is no regular expression: " + reason.data();
}

bool Pattern::is_in(const std::string& text) const {
  constexpr std::size_t kMostBytes = std::size_t{4} << 10;
  const std::string first = text.size() > kMostBytes ? text.substr(0, kMostBytes) : "";
  const char* const looked_at = first.empty() ? text.c_str() : first.c_str();
  return compiled_->is_good && regexec(&compiled_->expression, looked_at, 0, nullptr, 0) == 0;
}

PlaceSearch::PlaceSearch(const Report& report, const std::string& expression, NameFrame name)
    : report_(report), pattern_(expression), name_(std::move(name)) {
  known_.resize(report.frames.size());
}

bool PlaceSearch::is_in(const std::vector<std::uint32_t>& frames) {
  return std::any_of(frames.begin(), frames.end(), [this](std::uint32_t frame) {
    if (frame >= known_.size()) return false;
    if (!known_[frame]) {
      const std::vector<std::string> texts = texts_of_frame(report_, report_.frames[frame], name_);
      known_[frame] = std::any_of(texts.begin(), texts.end(),
                                  [this](const std::string& text) { return pattern_.is_in(text); });
    }
    return *known_[frame];
  });
}

namespace {

// Whether a path of ranges is `given`, begins with it, or has a range of that name.
bool range_passes(std::string_view path, std::string_view given) {
  if (path == given) return true;
  for (std::size_t at = path.find(given); at != path.npos; at = path.find(given, at + 1)) {
    const std::size_t end = at + given.size();
    const bool begins = at == 0 || path[at - 1] == '/' || path[at - 1] == ':';
    if (begins && (end == path.size() || path[end] == '/')) return true;
  }
  return false;
}

// "loader 4712": the name may have spaces, the number has none.
bool thread_passes(std::string_view value, std::string_view given) {
  const std::size_t space = value.rfind(' ');
  if (value == given || space == value.npos) return value == given;
  return value.substr(0, space) == given || value.substr(space + 1) == given;
}

bool has_kind_of(const Filter& filter, const SitePart& part) {
  return filter.passes(part.kind, part.device);
}

std::uint64_t measured(const SiteTotals& totals, Measure measure) {
  switch (measure) {
    case Measure::peak:
      return totals.peak_bytes;
    case Measure::live:
      return totals.live_bytes;
    case Measure::total:
      return totals.total_bytes;
    case Measure::any:
      return std::max(totals.peak_bytes, totals.live_bytes);
  }
  return 0;
}

// Only the parts that pass, and totals of these.
void filter_parts(Site& site, const Filter& filter) {
  const std::size_t before = site.parts.size();
  std::erase_if(site.parts, [&](const SitePart& part) { return !has_kind_of(filter, part); });
  if (site.parts.size() == before) return;
  site.totals = {};
  const bool estimates = site.estimate.has_value();
  site.estimate.reset();
  if (estimates) site.estimate.emplace();
  for (const SitePart& part : site.parts) {
    site.totals += part.totals;
    if (site.estimate) *site.estimate += numbers_of(part);
  }
}

void filter_sites(Report& report, const Filter& filter, const FilterUse& use,
                  const NameFrame& name) {
  const bool by_memory = filter.device || !filter.kind.empty();
  PlaceSearch places(report, filter.site, name);
  const auto passes = [&](Site& site) {
    if (by_memory) filter_parts(site, filter);
    if (by_memory && site.parts.empty()) return false;
    if (!filter.owner.empty() && owner_of_site(report, site) != filter.owner) return false;
    if (measured(numbers_of(site), use.measure) < filter.least_bytes()) return false;
    return filter.site.empty() || places.is_in(site.frames);
  };
  keep_site_numbers(report);
  std::vector<std::int64_t> now(report.sites.size(), -1);
  std::vector<Site> left;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    if (!passes(report.sites[i])) continue;
    now[i] = static_cast<std::int64_t>(left.size());
    left.push_back(std::move(report.sites[i]));
  }
  report.sites = std::move(left);
  renumber_sites(report, now);
}

bool passes(const Filter& filter, const LedgerEntry& entry) {
  if (!filter.has_kind(entry.kind)) return false;
  if (!filter.owner.empty() && entry.owner != filter.owner) return false;
  const bool of_host = entry.kind == "pinned" || entry.kind == "registered" || entry.kind == "host";
  if (filter.device && (of_host || entry.device != *filter.device)) return false;
  return std::max(entry.current_bytes, entry.peak_bytes) >= filter.least_bytes();
}

void filter_segments(std::vector<SegmentFacts>& segments, const Filter& filter) {
  std::erase_if(segments, [&](const SegmentFacts& segment) {
    return !filter.passes(segment.kind, segment.device);
  });
}

void filter_memory(Report& report, const Filter& filter) {
  const auto fails = [&](const auto& row) { return !filter.passes(row.kind, row.device); };
  std::erase_if(report.kinds, fails);
  std::erase_if(report.timeline.series, fails);
  std::erase_if(report.oom.events, fails);
  if (filter.device) {
    std::erase_if(report.devices,
                  [&](const DeviceReport& one) { return one.facts.index != *filter.device; });
  }
  for (DeviceReport& device : report.devices) filter_segments(device.segments, filter);
  filter_segments(report.host.segments, filter);
  filter_segments(report.host.registrations, filter);
}

}  // namespace

bool Filter::is_empty() const {
  return !device && kind.empty() && owner.empty() && thread.empty() && stream.empty() &&
         range.empty() && site.empty() && min_bytes.empty() && from.empty() && to.empty();
}

std::uint64_t Filter::least_bytes() const {
  Bytes bytes;
  return read(min_bytes, bytes) ? bytes.value : 0;
}

bool Filter::has_kind(std::string_view name) const {
  if (kind.empty() || name == kind) return true;
  const std::optional<Kind> meant = kind_of(kind);
  return meant && kKindNames[static_cast<std::size_t>(*meant)] == name;
}

bool Filter::passes(Kind one, std::uint16_t of_device) const {
  if (!has_kind(kKindNames[static_cast<std::size_t>(one)])) return false;
  return !device || (has_device(one) && of_device == *device);
}

bool Filter::passes(Axis axis, std::string_view value) const {
  switch (axis) {
    case Axis::owner:
      return owner.empty() || value == owner;
    case Axis::thread:
      return thread.empty() || thread_passes(value, thread);
    case Axis::stream:
      return stream.empty() || value == stream || value == "stream " + stream;
    case Axis::range:
      return range.empty() || range_passes(value, range);
    default:
      return true;
  }
}

std::string cannot_filter(const Filter& filter, const FilterUse& use) {
  if (!filter.from.empty() || !filter.to.empty()) {
    const std::string option = filter.from.empty() ? "--to" : "--from";
    return option +
           ": a report has no single allocations and their times; a trace has: vramscope "
           "run --trace FILE, then vramscope trace " +
           option + " TIME FILE";
  }
  const struct {
    Axis axis;
    const std::string& given;
    const char* name;
  } axes[] = {{Axis::thread, filter.thread, "thread"},
              {Axis::stream, filter.stream, "stream"},
              {Axis::range, filter.range, "range"}};
  for (const auto& [axis, given, name] : axes) {
    if (given.empty() || use.axis == axis) continue;
    const std::string option = name;
    return "--" + option + ": a report has sums by " + option + " only: vramscope owners --by " +
           option + "; with a trace (run --trace) vramscope trace --" + option +
           " tells its places apart";
  }
  if (use.axis && *use.axis != Axis::owner && !filter.owner.empty()) {
    return "--owner: a report has sums by owner alone, or by another axis alone";
  }
  if (use.axis && !filter.site.empty()) {
    return "--site: sums by owner or another axis know no call stacks; vramscope sites has them";
  }
  return {};
}

std::string owner_of_site(const Report& report, const Site& site) {
  for (const std::uint32_t index : site.frames) {
    if (index >= report.frames.size()) continue;
    const std::uint32_t module = report.frames[index].module;
    if (module >= report.modules.size()) continue;
    const std::string& path = report.modules[module].path;
    if (only_passes_on(path)) continue;
    return owner_of(path, path == report.process.executable);
  }
  return std::string(kUnknownOwner);
}

void filter_report(Report& report, const Filter& filter, const FilterUse& use,
                   const NameFrame& name) {
  if (filter.is_empty()) return;
  filter_sites(report, filter, use, name);
  filter_memory(report, filter);
  std::erase_if(report.ledger, [&](const LedgerEntry& row) { return !passes(filter, row); });
  std::erase_if(report.axes, [&](const AxisEntry& row) {
    return !filter.passes(row.kind, row.device) || !filter.passes(row.axis, row.value) ||
           std::max(row.own_peak_bytes, row.totals.live_bytes) < filter.least_bytes();
  });
}

}  // namespace vramscope
