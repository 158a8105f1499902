// The allocations that failed because memory ran out, and what there was to say of each: the first
// ones and the last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/ground/event.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

struct ReportParts;

// A program may meet the end of memory in a loop, and go on each time: so only the first 16 are
// looked at in detail, and then one in a second; a report of its own has one in a second, and after
// ten of these ever fewer, down to one in a minute. Threads: any, unless a line says otherwise.
class OomLog {
 public:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;
  static constexpr std::uint64_t kReportsInARow = 10;

  // wanted_bytes: is told the least that note_served() waits for; outlives this.
  explicit OomLog(std::atomic<std::uint64_t>& wanted_bytes) : wanted_bytes_(wanted_bytes) {}

  // Keeps and numbers it. True: its details are wanted, and describe() is to be called soon.
  [[nodiscard]] bool note(Refusal refusal) noexcept;

  // An allocation that succeeded: whether it is the first that is as large as one of those was.
  void note_served(const Event& event) noexcept;

  // Before the parts of a report are taken, which tell nothing of what is refused from here on: the
  // report is not to speak of it. Threads: the helper.
  void begin_report() noexcept;

  // Looks at those that were noted before begin_report() and wait for it, in parts that were taken
  // after that. May throw bad_alloc and LockLost. Threads: the helper.
  void describe(const ReportParts& parts);

  // Whether the last one that was described has a report of its own. Counts when it has.
  // Threads: the helper.
  [[nodiscard]] bool deserves_report(std::uint64_t now_ns) noexcept;

  // The last one before begin_report(). Threads: the helper.
  [[nodiscard]] const Refusal& told() const noexcept { return known_; }

  // May throw bad_alloc and LockLost. Threads: the helper.
  [[nodiscard]] OomReport report(const ReportParts& parts) const;

 private:
  // A refusal, and the first allocation after it that was given as much of the same memory.
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
  std::atomic<std::uint64_t> detailed_ns_{0};  // when the last details were wanted
  mutable SystemMutex mutex_;
  std::vector<Refusal> waiting_ VRAMSCOPE_GUARDED_BY(mutex_);
  Refusal last_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::array<Watched, kFirst + 1> watched_ VRAMSCOPE_GUARDED_BY(mutex_);  // the last: the latest
  std::vector<OomEvent> first_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::optional<OomEvent> last_described_ VRAMSCOPE_GUARDED_BY(mutex_);
  Refusal known_;                       // the last one before begin_report(): the helper's
  std::uint64_t reports_ = 0;           // the helper's
  std::uint64_t reported_ns_ = 0;       // the helper's
  std::uint64_t pause_ns_ = kSecondNs;  // the helper's
};

}  // namespace vramscope
