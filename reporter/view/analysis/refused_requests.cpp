// Compares refusals that follow each other, and solves for the sizes that were live.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/refused_requests.h"

#include <algorithm>
#include <span>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Both ask again at once; a program that does so itself takes its time.
constexpr std::uint64_t kSoonNs = 1'000'000'000;

std::string owner_at(const Report& report, std::int64_t site) {
  const auto at = static_cast<std::size_t>(site);
  return site < 0 || at >= report.sites.size() ? "" : owner_of_site(report, report.sites[at]);
}

// What came of allocations of one size, of which there are several.
struct Size {
  std::uint64_t bytes = 0;
  std::uint64_t most = 0;
};

// Finds how many of each size come to so many bytes and allocations, and whether that is the only
// way.
class Solver {
 public:
  explicit Solver(std::span<const Size> sizes) : sizes_(sizes), taken_(sizes.size()) {}

  [[nodiscard]] std::vector<std::uint64_t> only_solution(std::uint64_t bytes, std::uint64_t count) {
    try_from(0, bytes, count);
    return found_ == 1 && steps_ < kMostSteps ? solution_ : std::vector<std::uint64_t>();
  }

 private:
  static constexpr std::size_t kMostSteps = 100'000;

  void try_from(std::size_t at, std::uint64_t bytes, std::uint64_t count) {
    if (found_ > 1 || ++steps_ >= kMostSteps) return;
    if (at == sizes_.size()) {
      if (bytes != 0 || count != 0) return;
      ++found_;
      solution_ = taken_;
      return;
    }
    const Size& size = sizes_[at];
    const std::uint64_t most = std::min({size.most, count, bytes / size.bytes});
    // The others are smaller: each of them leaves so much at most.
    const std::uint64_t next = at + 1 == sizes_.size() ? 0 : sizes_[at + 1].bytes;
    for (std::uint64_t taken = most;; --taken) {
      const std::uint64_t left = bytes - taken * size.bytes;
      if (left > (count - taken) * next) return;  // and fewer leave more
      taken_[at] = taken;
      try_from(at + 1, left, count - taken);
      if (taken == 0 || found_ > 1) return;
    }
  }

  std::span<const Size> sizes_;
  std::vector<std::uint64_t> taken_;
  std::vector<std::uint64_t> solution_;
  std::size_t found_ = 0;
  std::size_t steps_ = 0;
};

// The largest first; empty: some are no powers of two.
std::vector<Size> sizes_of(const Site& site) {
  std::vector<Size> sizes;
  std::uint64_t bytes = 0;
  for (std::size_t i = site.sizes.size(); i-- > 1;) {
    if (site.sizes[i] == 0) continue;
    sizes.push_back({.bytes = std::uint64_t{1} << (i - 1), .most = site.sizes[i]});
    bytes += sizes.back().bytes * sizes.back().most;
  }
  const bool is_exact =
      !site.sizes.empty() && site.sizes[0] == 0 && bytes == site.totals.total_bytes;
  return is_exact ? sizes : std::vector<Size>();
}

}  // namespace

OwnRefusal own_refusal(const Report& report, const OomEvent& event) {
  for (const MergedProcess& process : report.processes) {
    const std::uint64_t first = report.timeline.start_ns;
    const std::uint64_t later =
        process.timeline.start_ns - std::min(first, process.timeline.start_ns);
    for (const OomEvent& its : process.oom.events) {
      const bool is_it = its.number == event.number && its.thread == event.thread &&
                         its.bytes == event.bytes && its.time_ns + later == event.time_ns;
      if (is_it) return {&process, &its};
    }
  }
  return {nullptr, &event};
}

std::optional<RepeatedRequest> repeated_request(const Report& report, const OomEvent& event) {
  const MergedProcess* const process = own_refusal(report, event).process;
  if (process == nullptr && is_merged(report)) return {};
  for (const OomEvent& before : report.oom.events) {
    if (before.number + 1 != event.number) continue;
    if (own_refusal(report, before).process != process) continue;
    const bool is_alike = before.bytes == event.bytes && event.bytes != 0 &&
                          before.kind == event.kind && before.device == event.device &&
                          before.function == event.function && before.thread == event.thread &&
                          !event.thread.empty() && event.time_ns >= before.time_ns &&
                          event.time_ns - before.time_ns < kSoonNs;
    if (!is_alike) return {};
    std::string owner = owner_at(report, event.site);
    const bool asks_again = owner == "PyTorch" || owner == "CuPy";
    if (!asks_again || owner_at(report, before.site) != owner) return {};
    return RepeatedRequest{.number = before.number, .owner = std::move(owner)};
  }
  return {};
}

std::uint64_t refused_requests(const Report& report) {
  std::uint64_t repeated = 0;
  for (const OomEvent& event : report.oom.events)
    repeated += repeated_request(report, event) ? 1 : 0;
  return report.oom.count - std::min(report.oom.count, repeated);
}

LiveSizes live_sizes(const Report& report, const OomShare& share) {
  constexpr std::size_t kMostSizes = 6;
  const auto at = static_cast<std::size_t>(share.site);
  if (share.site < 0 || at >= report.sites.size()) return {};
  const Site& site = report.sites[at];
  if (site.parts.size() != 1 || site.estimate) return {};  // sizes are of all parts
  const std::vector<Size> sizes = sizes_of(site);
  if (sizes.empty() || sizes.size() > kMostSizes) return {};
  const std::vector<std::uint64_t> counts =
      Solver(sizes).only_solution(share.live_bytes, share.live_count);
  LiveSizes live;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) live.emplace_back(sizes[i].bytes, counts[i]);
  return live;
}

}  // namespace vramscope
