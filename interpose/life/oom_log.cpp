// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/oom_log.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "allocator/base/abandoned_locks.h"
#include "reporter/report/oom.h"
#include "reporter/report/parts.h"

namespace vramscope {
bool OomLog::note(Refusal refusal) noexcept {
  const std::uint64_t now = refusal.event.start_ns;
  refusal.number = count_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint64_t before = detailed_ns_.load(std::memory_order_relaxed);
  const bool is_due = now - before >= kSecondNs || now < before;
  const bool is_wanted =
      refusal.number <= kFirst || (is_due && detailed_ns_.compare_exchange_strong(before, now));
  if (refusal.number <= kFirst) detailed_ns_.store(now, std::memory_order_relaxed);
  const SystemLock lock(mutex_);
  if (refusal.number > last_.number) last_ = refusal;
  watch(refusal);
  if (!is_wanted) return false;
  try {
    waiting_.push_back(refusal);
    return true;
  } catch (const std::bad_alloc&) {
    return false;  // it is counted
  }
}

// A refusal with an unknown size cannot be watched.
void OomLog::watch(const Refusal& refusal) {
  Watched& watched = watched_[std::min<std::uint64_t>(refusal.number - 1, kFirst)];
  if (refusal.event.bytes == 0 || refusal.number < watched.number) return;
  watched = {.number = refusal.number, .place = refusal.event.place, .bytes = refusal.event.bytes};
  tell_wanted();
}

void OomLog::tell_wanted() {
  std::uint64_t least = ~std::uint64_t{0};
  for (const Watched& one : watched_) {
    if (one.number != 0 && !one.served) least = std::min(least, one.bytes);
  }
  wanted_bytes_.store(least, std::memory_order_relaxed);
}

void OomLog::note_served(const Event& event) noexcept {
  const SystemLock lock(mutex_);
  for (Watched& one : watched_) {
    const bool is_same_memory = one.place.kind == event.place.kind &&
                                (is_host(one.place.kind) || one.place.device == event.place.device);
    if (one.number == 0 || one.served || !is_same_memory || event.bytes < one.bytes) continue;
    one.served = event;
  }
  tell_wanted();
}

void OomLog::begin_report() noexcept {
  try {
    const SystemLock lock(mutex_);
    known_ = last_;
  } catch (const LockLost&) {
    // describe() handles it.
  }
}

void OomLog::describe(const ReportParts& parts) {
  std::vector<Refusal> known;
  {
    const SystemLock lock(mutex_);
    const auto later = std::stable_partition(
        waiting_.begin(), waiting_.end(),
        [&](const Refusal& refusal) { return refusal.number <= known_.number; });
    known.assign(waiting_.begin(), later);
    waiting_.erase(waiting_.begin(), later);
  }
  for (const Refusal& refusal : known) {
    OomEvent event = describe_refusal(parts, refusal);
    const SystemLock lock(mutex_);
    if (refusal.number <= kFirst) {
      first_.push_back(std::move(event));
    } else {
      last_described_ = std::move(event);
    }
  }
}

bool OomLog::deserves_report(std::uint64_t now_ns) noexcept {
  const bool is_due = reports_ == 0 || now_ns - reported_ns_ >= pause_ns_;
  if (!is_due) return false;
  if (++reports_ >= kReportsInARow) pause_ns_ = std::min(2 * pause_ns_, 60 * kSecondNs);
  reported_ns_ = now_ns;
  return true;
}

OomReport OomLog::report(const ReportParts& parts) const {
  const SystemLock lock(mutex_);
  OomReport report{.count = known_.number, .events = first_};
  const std::uint64_t described = last_described_  ? last_described_->number
                                  : first_.empty() ? 0
                                                   : first_.back().number;
  if (known_.number > described) {
    report.events.push_back(describe_briefly(parts, known_));
  } else if (last_described_) {
    report.events.push_back(*last_described_);
  }
  for (OomEvent& event : report.events) add_outcome(parts, event);
  return report;
}

void OomLog::add_outcome(const ReportParts& parts, OomEvent& event) const {
  const auto same = std::find_if(watched_.begin(), watched_.end(),
                                 [&](const Watched& one) { return one.number == event.number; });
  event.is_watched = same != watched_.end();
  if (event.is_watched && same->served) add_served(parts, *same->served, event);
}

}  // namespace vramscope
