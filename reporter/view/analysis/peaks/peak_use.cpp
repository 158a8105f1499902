// Adds up what a report tells of a peak.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/peak_use.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

using OwnerBytes = std::map<std::string, std::uint64_t>;

struct Asked {
  OwnerBytes by_owner;
  OwnerBytes by_cache;
  std::uint64_t of_plain = 0;  // memory, that our allocator may serve from segments
  bool has_others = false;     // memory of other kinds
  bool has_pools = false;      // stream-ordered memory
};

// What a cache holds is no more its owner's.
void move_to_cache(Asked& asked, const std::string& owner, std::string_view cache,
                   std::uint64_t bytes) {
  std::uint64_t& of_owner = asked.by_owner[owner];
  const std::uint64_t moved = std::min(bytes, of_owner);
  of_owner -= moved;
  asked.by_cache[std::string(cache)] += moved;
}

bool may_be_idle(const PeakUseRow& row) {
  const FrameworkCache* const cache = framework_cache(row.owner);
  return row.part == PeakPart::held_by_pool && (cache == nullptr || cache->cuts_blocks);
}

class OfDevice {
 public:
  OfDevice(const Report& report, const DeviceReport& device, FrameworkCaches& caches)
      : report_(report), device_(device), index_(device.facts.index), caches_(caches) {}

  [[nodiscard]] PeakUse use() {
    PeakUse use{.device = index_, .gpu = gpu_name(report_, index_)};
    const Asked asked = asked_at_peak();
    add_asked(use, asked);
    if (use.rows.empty()) return use;
    add_reserved(use, asked);
    add_of_driver(use, asked);
    for (const PeakUseRow& row : use.rows) use.bytes += row.bytes.value_or(0);
    return use;
  }

 private:
  [[nodiscard]] Asked asked_at_peak() {
    for (const JointPeak& joint : report_.joint_peaks) {
      if (joint.facts.device == index_) return of_joint(joint);
    }
    // What several kinds held together nobody knows then.
    Asked asked;
    const KindFacts* only = nullptr;
    for (const KindFacts& kind : report_.kinds) {
      const bool counts = kind.device == index_ && takes_device_memory(kind.kind);
      if (!counts || kind.peak_bytes == 0) continue;
      if (only != nullptr) return {};
      only = &kind;
    }
    if (only != nullptr) add_kind(asked, *only);
    return asked;
  }

  [[nodiscard]] Asked of_joint(const JointPeak& joint) {
    Asked asked;
    std::uint64_t told = 0;
    for (const OomShare& share : joint.shares) note_kind(asked, share.kind, share.live_bytes);
    for (const JointStack& stack : joint_stacks(report_, joint)) {
      told += stack.live_bytes;
      if (const auto cache = caches_.of(stack.frames, stack.part)) {
        asked.by_cache[std::string(framework_caches()[*cache].name)] += stack.live_bytes;
      } else {
        asked.by_owner[owner_of_stack(report_, stack.frames)] += stack.live_bytes;
      }
    }
    if (told < joint.facts.peak_bytes) asked.by_owner["unknown"] += joint.facts.peak_bytes - told;
    return asked;
  }

  static void note_kind(Asked& asked, Kind kind, std::uint64_t bytes) {
    if (kind == Kind::device) asked.of_plain += bytes;
    if (kind != Kind::device && bytes != 0) asked.has_others = true;
    if (kind == Kind::stream_ordered) asked.has_pools = true;
  }

  void add_kind(Asked& asked, const KindFacts& kind) {
    note_kind(asked, kind.kind, kind.peak_bytes);
    std::uint64_t told = 0;
    for (const AxisEntry& entry : report_.axes) {
      const bool counts =
          entry.axis == Axis::owner && entry.kind == kind.kind && entry.device == kind.device;
      if (!counts) continue;
      asked.by_owner[entry.value] += entry.totals.peak_bytes;
      told += entry.totals.peak_bytes;
    }
    if (told < kind.peak_bytes) asked.by_owner["unknown"] += kind.peak_bytes - told;
    for (const Site& site : report_.sites) move_stacks(asked, site, kind);
  }

  void move_stacks(Asked& asked, const Site& site, const KindFacts& kind) {
    const auto move = [&](const std::vector<std::uint32_t>& frames,
                          const std::vector<SitePart>& parts) {
      const SitePart* const part = part_of(parts, kind.kind, kind.device);
      if (part == nullptr || frames.empty()) return;
      const std::uint64_t bytes = numbers_of(*part).peak_bytes;
      const auto cache = bytes == 0 ? std::nullopt : caches_.of(frames, *part);
      if (!cache) return;
      move_to_cache(asked, owner_of_stack(report_, frames), framework_caches()[*cache].name, bytes);
    };
    if (site.whole.empty()) return move(site.frames, site.parts);
    for (const RecordedStack& stack : site.whole) move(stack.frames, stack.parts);
  }

  static void add_asked(PeakUse& use, const Asked& asked) {
    for (const auto& [cache, bytes] : asked.by_cache) {
      if (bytes != 0)
        use.rows.push_back({.part = PeakPart::held_by_pool, .owner = cache, .bytes = bytes});
    }
    for (const auto& [owner, bytes] : asked.by_owner) {
      if (bytes != 0) use.rows.push_back({.owner = owner, .bytes = bytes});
    }
    std::stable_sort(use.rows.begin(), use.rows.end(),
                     [](const auto& a, const auto& b) { return *a.bytes > *b.bytes; });
    for (const PeakUseRow& row : use.rows) {
      if (!may_be_idle(row)) use.needed_least += *row.bytes;
    }
    use.needed_most = use.needed_least;
  }

  // What was reserved and not asked for. Counters bound rounding, free memory and idle memory at
  // the peak of reserved memory alone, so at another instant only their sum is bounded.
  void add_reserved(PeakUse& use, const Asked& asked) const {
    if (asked.of_plain == 0) return;
    if (!device_.used) {  // a trace, or another tool's file
      use.rows.push_back({.part = PeakPart::reserved});
      use.is_all = false;
      return;
    }
    const ReservedMemory memory = reserved_memory(report_, device_);
    const auto beyond = [&](std::uint64_t bytes) {
      return bytes - std::min(asked.of_plain, bytes);
    };
    use.most_reserved = beyond(memory.peak);
    if (use.most_reserved == 0) return;
    use.rows.push_back({.part = PeakPart::reserved, .bytes = use.most_reserved});
    use.needed_most += beyond(memory.needed_most);
    // Blocks in use with their rounding, when these were most.
    const bool has_caches = std::any_of(use.rows.begin(), use.rows.end(), may_be_idle);
    if (!has_caches) use.needed_least = std::max(use.needed_least, memory.needed_least);
  }

  [[nodiscard]] std::uint64_t at_end(LedgerRow which) const {
    std::uint64_t bytes = 0;
    for (const LedgerEntry& entry : report_.ledger) {
      if (entry.device == index_ && row_of(entry) == which) bytes += entry.device_bytes;
    }
    return bytes;
  }

  [[nodiscard]] std::uint64_t pages_at_end() const {
    std::uint64_t bytes = 0;
    for (const LedgerEntry& entry : report_.ledger) {
      if (entry.device != index_ || row_of(entry) != LedgerRow::memory) continue;
      bytes += entry.device_bytes - std::min(entry.current_bytes, entry.device_bytes);
    }
    return bytes;
  }

  // What no call asked for. Of the end, where that is known.
  void add_of_driver(PeakUse& use, const Asked& asked) const {
    const bool is_told = device_.facts.total_bytes != 0;  // not in files of other tools
    const auto unknown = [&](PeakPart part, std::uint64_t end_bytes) {
      PeakUseRow row{.part = part};
      if (is_told) row.end_bytes = end_bytes;
      use.rows.push_back(row);
      if (part != PeakPart::others) use.is_all = false;
    };
    const bool is_cached = report_.process.mode == "cache";
    use.lacks_pages = asked.has_others || !is_cached;
    if (use.lacks_pages) unknown(PeakPart::pages, pages_at_end());
    if (asked.has_pools) unknown(PeakPart::pools, at_end(LedgerRow::pools));
    const bool has_before = device_.facts.before_bytes.has_value();  // with contexts of then
    if (has_before) unknown(PeakPart::before, at_end(LedgerRow::before));
    PeakUseRow driver{.part = PeakPart::driver};
    if (is_measured(device_.facts.measured_by)) {
      const std::uint64_t bytes = at_end(LedgerRow::contexts) + at_end(LedgerRow::modules);
      driver.bytes = driver.end_bytes = bytes;
      use.needed_least += bytes;
      use.needed_most += bytes;
    } else {
      use.is_all = false;
      use.lacks_contexts = !has_before;
    }
    if (driver.bytes || !has_before) use.rows.push_back(driver);
    unknown(PeakPart::others, at_end(LedgerRow::others));
    use.rows.back().has_contexts = !driver.bytes && !has_before;
  }

  const Report& report_;
  const DeviceReport& device_;
  const std::uint16_t index_;
  FrameworkCaches& caches_;
};

}  // namespace

std::vector<PeakUse> peak_uses(const Report& report, const NameFrame& name) {
  if (is_of_several(report) || report.chosen || !tells_frees(report)) return {};
  FrameworkCaches caches(report, name);
  std::vector<PeakUse> uses;
  for (const DeviceReport& device : report.devices) {
    PeakUse use = OfDevice(report, device, caches).use();
    if (!use.rows.empty() && use.rows.front().bytes) uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace vramscope
