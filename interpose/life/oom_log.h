// OomLog keeps the allocations that failed because memory ran out, with details of the first ones
// and the last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/event.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

struct ReportParts;

// A program may run out of memory in a loop. So only the first 16 failures get details, and then
// one in a second. One in a second gets a report of its own, and after ten of these fewer and
// fewer, down to one in a minute. Threads: any, unless a line says otherwise.
class OomLog {
 public:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;
  static constexpr std::uint64_t kReportsInARow = 10;

  // wanted_bytes: receives the least size for which note_served() waits. Outlives this object.
  explicit OomLog(std::atomic<std::uint64_t>& wanted_bytes) : wanted_bytes_(wanted_bytes) {}

  // Keeps and numbers a refusal. Returns true if its details are wanted; then call describe() soon.
  [[nodiscard]] bool note(Refusal refusal) noexcept;

  // Notes a successful allocation, which may be the first that is as large as a refused one.
  void note_served(const Event& event) noexcept;

  // Call it before the parts of a report are collected. The report does not mention later refusals.
  // Threads: the helper.
  void begin_report() noexcept;

  // Adds details to the waiting refusals from before begin_report(), by parts that were collected
  // after it. May throw bad_alloc and LockLost. Threads: the helper.
  void describe(const ReportParts& parts);

  // Whether the last described refusal gets a report of its own. If so, counts it.
  // Threads: the helper.
  [[nodiscard]] bool deserves_report(std::uint64_t now_ns) noexcept;

  // Returns the last refusal before begin_report(). Threads: the helper.
  [[nodiscard]] const Refusal& told() const noexcept { return known_; }

  // May throw bad_alloc and LockLost. Threads: the helper.
  [[nodiscard]] OomReport report(const ReportParts& parts) const;

 private:
  // A refusal, and the first later allocation of the same memory that got as much.
  struct Watched {
    std::uint64_t number = 0;  // 0: none
    Place place;
    std::uint64_t bytes = 0;
    std::optional<Event> served = {};
  };
  void watch(const Refusal& refusal) VRAMSCOPE_REQUIRES(mutex_);
  void tell_wanted() VRAMSCOPE_REQUIRES(mutex_);
  void add_outcome(const ReportParts& parts, OomEvent& event) const VRAMSCOPE_REQUIRES(mutex_);

  std::atomic<std::uint64_t>& wanted_bytes_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> detailed_ns_{0};  // when details were wanted last
  mutable SystemMutex mutex_;
  std::vector<Refusal> waiting_ VRAMSCOPE_GUARDED_BY(mutex_);
  Refusal last_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::array<Watched, kFirst + 1> watched_
      VRAMSCOPE_GUARDED_BY(mutex_);  // its last element is the newest refusal
  std::vector<OomEvent> first_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::optional<OomEvent> last_described_ VRAMSCOPE_GUARDED_BY(mutex_);
  Refusal known_;                       // the last one before begin_report(): the helper's
  std::uint64_t reports_ = 0;           // the helper's
  std::uint64_t reported_ns_ = 0;       // the helper's
  std::uint64_t pause_ns_ = kSecondNs;  // the helper's
};

}  // namespace vramscope
