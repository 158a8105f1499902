// Counts calls and times in the calling thread's own set.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/thread_counters.h"

#include <pthread.h>

#include <new>

#include "allocator/base/thread_buffer.h"

namespace vramscope {

// The calling thread's set, in plain memory, so that reading it needs no initialisation check.
struct ThreadCounters::Slot {
  const Pool* pool = nullptr;
  CounterSet* set = nullptr;  // the set of `owned`
  Owned* owned = nullptr;
  bool ended = false;  // the thread's destructors ran; it may still free memory
};

// initial-exec: the library is loaded at start-up, and an event must not cost a call into the
// loader.
__attribute__((
    tls_model("initial-exec"))) thread_local constinit ThreadCounters::Slot ThreadCounters::slot_{};

// Gives back the set and the thread's buffer when the thread ends. It lies under a pthread key,
// because a thread_local object would be registered under the loader's lock, and a thread that
// holds that lock may be waiting for this thread.
struct ThreadCounters::Reaper {
  std::shared_ptr<Pool> pool;

  // Takes no lock: a forked child ends its thread, too, and there the lock may stay locked for
  // ever.
  void release() noexcept {
    if (pool) slot_.owned->is_taken.store(false, std::memory_order_release);
    slot_ = {};
    pool.reset();
  }
  static void end(void* reaper) noexcept {
    auto* const own = static_cast<Reaper*>(reaper);
    own->release();
    slot_.ended = true;
    delete own;
    thread_buffer::discard();
  }
  struct Key {
    pthread_key_t key{};
    const bool made = pthread_key_create(&key, end) == 0;  // false: the process has no key left
  };
  static const Key& key() {
    static const Key only;
    return only;
  }
  // Returns the thread's Reaper and makes it if it is missing. Returns null without a key. May
  // throw bad_alloc.
  static Reaper* of_this_thread() {
    if (!key().made) return nullptr;
    if (void* const known = pthread_getspecific(key().key)) return static_cast<Reaper*>(known);
    auto made = std::make_unique<Reaper>();
    if (pthread_setspecific(key().key, made.get()) != 0) throw std::bad_alloc();
    return made.release();
  }
};

ThreadCounters::Owned::Owned(std::size_t function_count, LiveMemory* live)
    : set(make_kept<CounterSet>(live, function_count, live), KeptDelete{live}) {}

ThreadCounters::ThreadCounters(std::size_t function_count, LiveMemory* live, CounterSets& all)
    : pool_(std::make_shared<Pool>()), all_(all) {
  static_cast<void>(Reaper::key());  // now, while no call of the program waits for it
  pool_->function_count = function_count;
  pool_->live = live;
  pool_->all = &all;
  pool_->late = std::make_unique<Owned>(function_count, live);
  all.add(*pool_->late->set);
}

ThreadCounters::Owned* ThreadCounters::Pool::take() {
  const SystemLock guard(lock);
  for (auto& owned : sets) {
    if (!owned->is_taken.exchange(true, std::memory_order_acquire)) return owned.get();
  }
  sets.push_back(std::make_unique<Owned>(function_count, live));
  all->add(*sets.back()->set);
  return sets.back().get();
}

CounterSet* ThreadCounters::own_set() {
  if (slot_.pool == pool_.get()) [[likely]]
    return slot_.set;
  return slot_.ended ? nullptr : take_set();
}

CounterSet* ThreadCounters::take_set() {
  Reaper* reaper = Reaper::of_this_thread();
  if (reaper == nullptr) return nullptr;
  Owned* const owned = pool_->take();
  reaper->release();  // drops another recorder's set; only tests have several
  reaper->pool = pool_;
  slot_ = {.pool = pool_.get(), .set = owned->set.get(), .owned = owned, .ended = false};
  return slot_.set;
}

void ThreadCounters::record(const Event& event) {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  const auto count = [&](CounterSet& set) {
    set.record(event, generation);
    if (event.tag != 0 && is_allocating(event.effect)) set.add_time(event.tag, event.total_ns);
  };
  if (CounterSet* const set = own_set()) return count(*set);
  const SystemLock guard(pool_->late_lock);
  count(*pool_->late->set);
}

void ThreadCounters::count_temporary(Tag tag) noexcept {
  if (slot_.pool == pool_.get()) [[likely]]
    return slot_.set->add_temporary(tag);
  const SystemLock guard(pool_->late_lock);
  pool_->late->set->add_temporary(tag);
}

void ThreadCounters::enter() { static_cast<void>(own_set()); }

void ThreadCounters::add_to(Trace& trace, const TraceEvent& event) {
  if (own_set() != nullptr) {
    trace.add(slot_.owned->lane, event);
    return;
  }
  const SystemLock guard(pool_->late_lock);
  trace.add(pool_->late->lane, event);
}

Timing ThreadCounters::host() const {
  const SystemLock guard(resets_lock_);
  return all_.host({});
}

void ThreadCounters::reset_timing() noexcept {
  const SystemLock guard(resets_lock_);
  generation_.store(all_.begin_generation(), std::memory_order_relaxed);
}

void ThreadCounters::reset_host_accumulated() noexcept {
  const SystemLock guard(resets_lock_);
  all_.begin_host();
}

}  // namespace vramscope
