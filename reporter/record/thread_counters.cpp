// Counts calls and times in the calling thread's own set.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/thread_counters.h"

#include <pthread.h>

#include <new>

namespace vramscope {

namespace {

// The row behind `pointer`, made when it is missing. Threads: the one writer.
template <class Row>
Row& row_at(std::atomic<Row*>& pointer) {
  Row* row = pointer.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = new Row;
    pointer.store(row, std::memory_order_release);
  }
  return *row;
}

std::size_t slot_of(Place place) {
  return is_host(place.kind) ? CounterSet::kHostSlot : place.device;
}

// A hit costs our own time; everything else what the driver took for the memory.
std::uint64_t duration_of(const Event& event) {
  if (event.served != Served::hit && event.driver_ns != 0) return event.driver_ns;
  return event.total_ns - std::min(event.sync_ns, event.total_ns);
}

}  // namespace

CounterSet::~CounterSet() {
  for (auto& row : functions_) delete row.load(std::memory_order_relaxed);
  for (auto& row : timings_) delete row.load(std::memory_order_relaxed);
}

TimingCounters& CounterSet::timing(std::size_t slot, std::uint64_t generation) {
  TimingCounters& row = row_at(timings_[slot]);
  if (row.generation.load(std::memory_order_relaxed) != generation) {
    row.visit([](DurationCounters& duration) { duration.clear(); });
    row.generation.store(generation, std::memory_order_release);
  }
  return row;
}

void CounterSet::record(const Event& event, std::uint64_t generation) {
  if (event.function >= functions_.size()) return;
  FunctionCounters& function = row_at(functions_[event.function]);
  const bool known = is_host(event.place.kind) || event.place.device < kMaxDevices;
  // As in the statistics, a device's memory is what cuMemAlloc gives; other kinds are in their
  // functions' rows.
  const bool timed = is_host(event.place.kind) || event.place.kind == Kind::device;
  const bool counts = known && timed && (is_allocating(event.effect) || is_freeing(event.effect));
  TimingCounters* const times =
      counts || (known && event.sync_ns != 0) ? &timing(slot_of(event.place), generation) : nullptr;

  function.time.add(event.total_ns);
  if (event.failed) function.failures.add(1);
  if (times == nullptr) return;
  if (event.sync_ns != 0) times->sync.add(event.sync_ns);
  if (event.failed || !counts) return;
  const bool hit = event.served == Served::hit;
  if (is_allocating(event.effect)) {
    (hit ? times->alloc_hit : times->alloc_driver).add(duration_of(event));
  } else {
    (hit ? times->free_hit : times->free_driver).add(duration_of(event));
  }
}

void CounterSet::add_time(Tag tag, std::uint64_t ns, TagTimes& times) noexcept {
  TagTime& time = tag_times_[tag % tag_times_.size()];
  const Tag before = time.tag.load(std::memory_order_relaxed);
  if (before != tag) [[unlikely]] {
    if (time.ns.get() != 0) times.add(before, time.ns.get());
    time.ns.set(0);
    time.tag.store(tag, std::memory_order_relaxed);
  }
  time.ns.add(ns);
}

void CounterSet::add_times_to(std::vector<std::uint64_t>& by_tag) const noexcept {
  for (const TagTime& time : tag_times_) {
    const Tag tag = time.tag.load(std::memory_order_relaxed);
    if (tag < by_tag.size()) by_tag[tag] += time.ns.get();
  }
}

void CounterSet::add_to(std::vector<FunctionTotals>& functions) const noexcept {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const FunctionCounters* row = functions_[i].load(std::memory_order_acquire);
    if (row == nullptr) continue;
    row->time.add_to(functions[i].time);
    functions[i].failures += row->failures.get();
    functions[i].calls = functions[i].time.count;
  }
}

void CounterSet::add_timing(std::size_t slot, std::uint64_t generation,
                            Timing& sum) const noexcept {
  TimingCounters* row = timings_[slot].load(std::memory_order_acquire);
  // Counts from before the last reset: their thread has recorded nothing since.
  if (row == nullptr || row->generation.load(std::memory_order_acquire) != generation) return;
  std::array<Duration*, 5> parts{};
  std::size_t next = 0;
  Timing::visit(sum, [&](const char*, Duration& part) { parts[next++] = &part; });
  next = 0;
  row->visit([&](DurationCounters& counters) { counters.add_to(*parts[next++]); });
}

bool CounterSet::has_timing(std::size_t slot) const noexcept {
  return timings_[slot].load(std::memory_order_acquire) != nullptr;
}

// The calling thread's set. Plain memory, so that reading it needs no initialisation check.
struct ThreadCounters::Slot {
  const Pool* pool = nullptr;
  CounterSet* set = nullptr;
  bool ended = false;  // the thread's destructors ran; it may still free memory
};

// initial-exec: the library is loaded at start-up, and a call into the loader for each event is
// what it must not cost.
__attribute__((
    tls_model("initial-exec"))) thread_local constinit ThreadCounters::Slot ThreadCounters::slot_{};

// Gives the set back when its thread ends. Kept under a key, as a thread_local object would be
// registered under the loader's lock: who holds that may be waiting for this thread.
struct ThreadCounters::Reaper {
  std::shared_ptr<Pool> pool;

  void release() noexcept {
    if (pool) pool->give_back(slot_.set);
    slot_ = {};
    pool.reset();
  }
  static void end(void* reaper) noexcept {
    auto* const own = static_cast<Reaper*>(reaper);
    own->release();
    slot_.ended = true;
    delete own;
  }
  struct Key {
    pthread_key_t key{};
    const bool made = pthread_key_create(&key, end) == 0;  // else the process has none left
  };
  static const Key& key() {
    static const Key only;
    return only;
  }
  // Made when missing; may throw bad_alloc. Null: there is no key.
  static Reaper* of_this_thread() {
    if (!key().made) return nullptr;
    if (void* const known = pthread_getspecific(key().key)) return static_cast<Reaper*>(known);
    auto made = std::make_unique<Reaper>();
    if (pthread_setspecific(key().key, made.get()) != 0) throw std::bad_alloc();
    return made.release();
  }
};

ThreadCounters::ThreadCounters(std::size_t function_count) : pool_(std::make_shared<Pool>()) {
  static_cast<void>(Reaper::key());  // now, on no program's way
  pool_->function_count = function_count;
  pool_->late = std::make_unique<CounterSet>(function_count);
}

CounterSet* ThreadCounters::Pool::take() {
  const SystemLock guard(lock);
  for (auto& set : sets) {
    if (!set->taken_.exchange(true, std::memory_order_acquire)) return set.get();
  }
  sets.push_back(std::make_unique<CounterSet>(function_count));
  return sets.back().get();
}

// Without the lock: a forked child ends its thread too, and there the lock may be held for ever.
void ThreadCounters::Pool::give_back(CounterSet* set) noexcept {
  set->taken_.store(false, std::memory_order_release);
}

CounterSet* ThreadCounters::own_set() {
  if (slot_.pool == pool_.get()) [[likely]]
    return slot_.set;
  return slot_.ended ? nullptr : take_set();
}

CounterSet* ThreadCounters::take_set() {
  Reaper* reaper = Reaper::of_this_thread();
  if (reaper == nullptr) return nullptr;
  CounterSet* const set = pool_->take();
  reaper->release();  // another recorder's, which only a test has
  reaper->pool = pool_;
  slot_ = {.pool = pool_.get(), .set = set, .ended = false};
  return set;
}

void ThreadCounters::record(const Event& event) {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (CounterSet* const set = own_set()) {
    set->record(event, generation);
    return;
  }
  const SystemLock guard(pool_->late_lock);
  pool_->late->record(event, generation);
}

void ThreadCounters::add_time(Tag tag, std::uint64_t ns, TagTimes& times) {
  if (CounterSet* const set = own_set()) return set->add_time(tag, ns, times);
  times.add(tag, ns);
}

void ThreadCounters::enter() { static_cast<void>(own_set()); }

void ThreadCounters::add_to(Trace& trace, const TraceEvent& event) {
  if (CounterSet* const set = own_set()) {
    trace.add(set->lane_, event);
    return;
  }
  const SystemLock guard(pool_->late_lock);
  trace.add(pool_->late->lane_, event);
}

template <class F>
void ThreadCounters::each_set(F&& f) const {
  const SystemLock guard(pool_->lock);
  for (const auto& set : pool_->sets) f(*set);
  f(*pool_->late);
}

void ThreadCounters::add_times_to(std::vector<std::uint64_t>& by_tag) const {
  each_set([&](const CounterSet& set) { set.add_times_to(by_tag); });
}

std::vector<FunctionTotals> ThreadCounters::functions() const {
  std::vector<FunctionTotals> sum(pool_->function_count);
  each_set([&](const CounterSet& set) { set.add_to(sum); });
  return sum;
}

bool ThreadCounters::timing(std::size_t slot, Timing& sum) const {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  bool used = false;
  each_set([&](const CounterSet& set) {
    used = used || set.has_timing(slot);
    set.add_timing(slot, generation, sum);
  });
  return used;
}

std::vector<std::pair<std::uint16_t, Timing>> ThreadCounters::devices() const {
  std::vector<std::pair<std::uint16_t, Timing>> used;
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    Timing sum;
    if (timing(device, sum)) used.emplace_back(device, sum);
  }
  return used;
}

Timing ThreadCounters::host() const {
  Timing sum;
  static_cast<void>(timing(CounterSet::kHostSlot, sum));
  return sum;
}

}  // namespace vramscope
