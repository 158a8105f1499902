// Counts in the thread's own set, and adds up what all sets hold.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/counter_set.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "reporter/record/kept.h"

namespace vramscope {

namespace {

// Returns the row behind `pointer`, and makes it if it is missing. Threads: the one writer.
template <class Row>
Row& row_at(std::atomic<Row*>& pointer, LiveMemory* live) {
  Row* row = pointer.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = make_kept<Row>(live);
    pointer.store(row, std::memory_order_release);
  }
  return *row;
}

template <class Row>
const Row* row_of(const std::atomic<Row*>& pointer, const Reach& reach) {
  return reach.at(static_cast<const Row*>(pointer.load(std::memory_order_acquire)));
}

std::size_t rows_for(std::size_t functions) {
  return (functions + kFunctionsTogether - 1) / kFunctionsTogether;
}

std::atomic<FunctionRows*>* make_rows(std::size_t functions, LiveMemory* live) {
  using Row = std::atomic<FunctionRows*>;
  const std::size_t count = rows_for(functions);
  if (live == nullptr) return new Row[count]{};
  void* const rows = live->allocate(count * sizeof(Row), alignof(Row));
  if (rows == nullptr) throw std::bad_alloc();
  return static_cast<Row*>(rows);  // zero bytes are null pointers
}

std::size_t slot_of(Place place) {
  return is_host(place.kind) ? CounterSet::kHostSlot : place.device;
}

// A hit is counted with our own time, every other call with the driver's time for the memory.
std::uint64_t duration_of(const Event& event) {
  if (event.served != Served::hit && event.driver_ns != 0) return event.driver_ns;
  return event.total_ns - std::min(event.sync_ns, event.total_ns);
}

void subtract(Duration& from, const Duration& before) {
  from.count -= std::min(from.count, before.count);
  from.total_ns -= std::min(from.total_ns, before.total_ns);
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    from.histogram[i] -= std::min(from.histogram[i], before.histogram[i]);
  }
}

}  // namespace

CounterSet::CounterSet(std::size_t function_count, LiveMemory* live)
    : live_(live), function_count_(function_count), functions_(make_rows(function_count, live)) {}

CounterSet::~CounterSet() {
  for (std::size_t i = 0; i < rows_for(function_count_); ++i) {
    FunctionRows* const rows = functions_[i].load(std::memory_order_relaxed);
    if (rows == nullptr) continue;
    for (auto& row : *rows) delete row.load(std::memory_order_relaxed);
    delete rows;
  }
  for (auto& row : timings_) delete row.load(std::memory_order_relaxed);
  if (AllTags* const tags = tags_.load(std::memory_order_relaxed)) {
    for (auto& row : *tags) delete row.load(std::memory_order_relaxed);
    delete tags;
  }
  delete[] functions_;
}

TimingCounters& CounterSet::timing(std::size_t slot, std::uint64_t generation) {
  TimingCounters& row = row_at(timings_[slot], live_);
  if (row.generation.load(std::memory_order_relaxed) != generation) {
    TimingCounters::visit(row, [](DurationCounters& duration) { duration.clear(); });
    row.generation.store(generation, std::memory_order_release);
  }
  return row;
}

// Counts a hit, the common call, for which the answers to all checks of record() are known.
inline void CounterSet::record_hit(const Event& event, FunctionCounters& function,
                                   TimingCounters& times) {
  const std::size_t bucket = histogram_bucket(event.total_ns);
  function.time.add(event.total_ns, bucket);
  if (event.effect == Effect::allocate) return times.alloc_hit.add(event.total_ns, bucket);
  if (event.sync_ns != 0) times.sync.add(event.sync_ns);
  times.free_hit.add(duration_of(event));
}

void CounterSet::record(const Event& event, std::uint64_t generation) {
  if (event.function >= function_count_) return;
  FunctionRows& rows = row_at(functions_[event.function / kFunctionsTogether], live_);
  FunctionCounters& function = row_at(rows[event.function % kFunctionsTogether], live_);
  const bool is_usual = event.served == Served::hit && !event.failed &&
                        event.place.kind == Kind::device && event.place.device < kMaxDevices &&
                        (event.effect == Effect::release || event.sync_ns == 0);
  if (is_usual) [[likely]]
    return record_hit(event, function, timing(event.place.device, generation));
  const bool known = is_host(event.place.kind) || event.place.device < kMaxDevices;
  // As in the statistics, only what cuMemAlloc gives counts as device memory. Other kinds are in
  // the rows of their functions.
  const bool timed = is_host(event.place.kind) || event.place.kind == Kind::device;
  const bool counts = known && timed && (is_allocating(event.effect) || is_freeing(event.effect));
  TimingCounters* const times =
      counts || (known && event.sync_ns != 0) ? &timing(slot_of(event.place), generation) : nullptr;

  const std::size_t bucket = histogram_bucket(event.total_ns);
  function.time.add(event.total_ns, bucket);
  if (event.failed) function.failures.add(1);
  if (times == nullptr) return;
  if (event.sync_ns != 0) times->sync.add(event.sync_ns);
  if (event.failed || !counts) return;
  const bool hit = event.served == Served::hit;
  const std::uint64_t ns = duration_of(event);
  const std::size_t at = ns == event.total_ns ? bucket : histogram_bucket(ns);
  if (is_allocating(event.effect)) {
    (hit ? times->alloc_hit : times->alloc_driver).add(ns, at);
  } else {
    (hit ? times->free_hit : times->free_driver).add(ns, at);
  }
}

// Returns the row for `tag` and makes it if it is missing, or returns null if memory is exhausted.
CounterSet::TagSums* CounterSet::kept_sums(Tag tag) noexcept {
  if (tag / kTags >= kTags) return nullptr;
  try {
    AllTags& tags = row_at(tags_, live_);
    return &row_at(tags[tag / kTags], live_)[tag % kTags];
  } catch (...) {
    return nullptr;
  }
}

CounterSet::ByTag CounterSet::sums_until_now(Tag tag) const noexcept {
  const AllTags* const tags = tags_.load(std::memory_order_relaxed);
  if (tags == nullptr || tag / kTags >= kTags) return {};
  const Tags* const row = (*tags)[tag / kTags].load(std::memory_order_relaxed);
  return row == nullptr ? ByTag{} : (*row)[tag % kTags].get();
}

// Each store leaves sums that were right before it. The previous tag's sums are first in two
// places, of which the newest one counts, and then in one.
void CounterSet::replace(NewestTag& newest, Tag tag) noexcept {
  const Tag before = newest.tag.load(std::memory_order_relaxed);
  TagSums* const kept = before == 0 ? nullptr : kept_sums(before);
  if (kept != nullptr) kept->set(newest.sums.get());
  newest.tag.store(0, std::memory_order_release);
  newest.sums.set(sums_until_now(tag));
  newest.tag.store(tag, std::memory_order_release);
}

void CounterSet::add_tags_to(std::vector<ByTag>& by_tag, const Reach& reach) const {
  std::array<Tag, kNewest> newest{};
  for (std::size_t i = 0; i < newest.size(); ++i) {
    newest[i] = newest_tags_[i].tag.load(std::memory_order_acquire);
    if (newest[i] != 0 && newest[i] < by_tag.size()) {
      newest_tags_[i].sums.add_to(by_tag[newest[i]]);
    }
  }
  const AllTags* const tags = row_of(tags_, reach);
  if (tags == nullptr) return;
  for (Tag tag = 0; tag < by_tag.size(); ++tag) {
    if (tag / kTags >= kTags) return;
    if (newest[tag % newest.size()] == tag) continue;
    const Tags* const row = row_of((*tags)[tag / kTags], reach);
    if (row != nullptr) (*row)[tag % kTags].add_to(by_tag[tag]);
  }
}

void CounterSet::add_to(std::vector<FunctionTotals>& functions, const Reach& reach) const {
  if (reach.at(functions_, rows_for(functions.size())) == nullptr) return;
  const FunctionRows* rows = nullptr;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::size_t at = i % kFunctionsTogether;
    if (at == 0) rows = row_of(functions_[i / kFunctionsTogether], reach);
    const FunctionCounters* const row = rows == nullptr ? nullptr : row_of((*rows)[at], reach);
    if (row == nullptr) continue;
    row->time.add_to(functions[i].time);
    functions[i].failures += row->failures.get();
    functions[i].calls = functions[i].time.count;
  }
}

bool CounterSet::add_timing(std::size_t slot, std::uint64_t generation, Timing& sum,
                            const Reach& reach) const {
  const TimingCounters* const row = row_of(timings_[slot], reach);
  if (row == nullptr) return false;
  // The counts are from before the last reset: the thread has recorded nothing since.
  if (row->generation.load(std::memory_order_acquire) != generation) return true;
  std::array<Duration*, 5> parts{};
  std::size_t next = 0;
  Timing::visit(sum, [&](const char*, Duration& part) { parts[next++] = &part; });
  next = 0;
  TimingCounters::visit(*row,
                        [&](const DurationCounters& counters) { counters.add_to(*parts[next++]); });
  return true;
}

void CounterSets::begin(std::uint64_t generation, const Timing& host_before) noexcept {
  const std::uint64_t other = ~resets_.load(std::memory_order_relaxed) & 1;
  host_before_[other] = host_before;
  resets_.store(generation << 1 | other, std::memory_order_release);
}

std::uint64_t CounterSets::begin_generation() noexcept {
  const std::uint64_t generation = (resets_.load(std::memory_order_relaxed) >> 1) + 1;
  begin(generation, {});
  return generation;
}

void CounterSets::begin_host() noexcept {
  Timing now;
  static_cast<void>(timing(CounterSet::kHostSlot, now, {}));
  begin(resets_.load(std::memory_order_relaxed) >> 1, now);
}

// A set is newer than the sets that it links to, so in an image it lies behind them.
template <class F>
void CounterSets::each(const Reach& reach, F&& f) const {
  const CounterSet* set = reach.at(newest_.load(std::memory_order_acquire));
  while (set != nullptr) {
    f(*set);
    const CounterSet* const older = reach.at(set->older_);
    if (reach.is_of_image() && older >= set) {
      throw std::runtime_error("the recorder's sets of counters form a cycle");
    }
    set = older;
  }
}

std::vector<FunctionTotals> CounterSets::functions(std::size_t count, const Reach& reach) const {
  std::vector<FunctionTotals> sum(count);
  each(reach, [&](const CounterSet& set) { set.add_to(sum, reach); });
  for (FunctionTotals& function : sum) {
    function.failures = std::min(function.failures, function.calls);  // a call may be half counted
  }
  return sum;
}

void CounterSets::add_tags_to(std::vector<CounterSet::ByTag>& by_tag, const Reach& reach) const {
  each(reach, [&](const CounterSet& set) { set.add_tags_to(by_tag, reach); });
}

bool CounterSets::timing(std::size_t slot, Timing& sum, const Reach& reach) const {
  const std::uint64_t generation = resets_.load(std::memory_order_acquire) >> 1;
  bool used = false;
  each(reach,
       [&](const CounterSet& set) { used = set.add_timing(slot, generation, sum, reach) || used; });
  return used;
}

std::vector<std::pair<std::uint16_t, Timing>> CounterSets::devices(const Reach& reach) const {
  std::vector<std::pair<std::uint16_t, Timing>> used;
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    Timing sum;
    if (timing(device, sum, reach)) used.emplace_back(device, sum);
  }
  return used;
}

Timing CounterSets::host(const Reach& reach) const {
  Timing sum;
  static_cast<void>(timing(CounterSet::kHostSlot, sum, reach));
  const Timing& before = host_before_[resets_.load(std::memory_order_acquire) & 1];
  subtract(sum.alloc_hit, before.alloc_hit);
  subtract(sum.alloc_driver, before.alloc_driver);
  subtract(sum.free_hit, before.free_hit);
  subtract(sum.free_driver, before.free_driver);
  subtract(sum.sync, before.sync);
  return sum;
}

}  // namespace vramscope
