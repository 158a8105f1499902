// The recorder: interning on one side, counting on the other, and a copy of both for reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recorder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "allocator/capability.h"
#include "reporter/record/module_table.h"
#include "reporter/record/site_table.h"
#include "reporter/record/stack_table.h"
#include "reporter/record/tag_times.h"
#include "reporter/record/thread_counters.h"

namespace vramscope {

namespace {

constexpr std::size_t kMaxWarnings = 100;  // a program may make us warn in a loop

// The program's errno is its own.
class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = value_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int value_ = errno;
};

// A known stack is trusted for this many lookups of a thread before the loader is asked whether
// objects were unloaded: asking costs more than the lookup, and the same addresses all along a
// stack after an unload nearly always mean the same object, loaded again.
constexpr std::uint32_t kLookupsBetweenChecks = 4096;
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t lookups = 0;

bool is_allocating(const Event& event) {
  return event.effect == Effect::allocate || event.effect == Effect::pin;
}

}  // namespace

struct Recorder::State {
  State(std::size_t function_count, std::size_t max_tags)
      : counters(function_count), sites(std::min(max_tags, kMaxTags)) {}

  Tag intern(const Stack& stack, Place place);
  Tag intern_new(const Stack& stack, Place place);
  void warn(const char* text);
  Timing host() const;

  ThreadCounters counters;
  ModuleTable modules;
  SiteTable sites;
  StackTable stacks;
  TagTimes tag_times;
  std::atomic<std::uint64_t> unrecorded{0};
  SystemMutex warnings_lock;
  std::vector<std::string> warnings VRAMSCOPE_GUARDED_BY(warnings_lock);
  mutable SystemMutex host_lock;
  Timing host_before VRAMSCOPE_GUARDED_BY(host_lock);  // the last reset_host_accumulated()
};

namespace {

void subtract(Duration& from, const Duration& before) {
  from.count -= std::min(from.count, before.count);
  from.total_ns -= std::min(from.total_ns, before.total_ns);
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    from.histogram[i] -= std::min(from.histogram[i], before.histogram[i]);
  }
}

}  // namespace

Timing Recorder::State::host() const {
  Timing sum = counters.host();
  const SystemLock guard(host_lock);
  subtract(sum.alloc_hit, host_before.alloc_hit);
  subtract(sum.alloc_driver, host_before.alloc_driver);
  subtract(sum.free_hit, host_before.free_hit);
  subtract(sum.free_driver, host_before.free_driver);
  subtract(sum.sync, host_before.sync);
  return sum;
}

Tag Recorder::State::intern(const Stack& stack, Place place) {
  if (++lookups % kLookupsBetweenChecks == 0) modules.refresh();
  const StackKey key{.frames = stack.view(), .place = place, .epoch = modules.epoch()};
  if (const Tag tag = stacks.find(key, StackTable::hash(key))) return tag;
  return intern_new(stack, place);
}

Tag Recorder::State::intern_new(const Stack& stack, Place place) {
  modules.refresh();
  // The frames are live, so their objects stay loaded; what another thread unloads meanwhile only
  // makes this epoch an old one, whose entry nobody finds.
  const StackKey key{.frames = stack.view(), .place = place, .epoch = modules.epoch()};
  const Tag tag = sites.tag(modules.resolve(stack.view()), place);
  if (tag == 0) {
    warn("too many call sites: further ones are counted as unknown");
    return 0;
  }
  tag_times.prepare(tag);
  stacks.insert(key, StackTable::hash(key), tag);
  return tag;
}

void Recorder::State::warn(const char* text) {
  const SystemLock guard(warnings_lock);
  if (warnings.size() >= kMaxWarnings) return;
  if (std::find(warnings.begin(), warnings.end(), text) != warnings.end()) return;
  warnings.emplace_back(text);
}

Recorder::Recorder(std::size_t function_count, std::size_t max_tags)
    : state_(std::make_unique<State>(function_count, max_tags)) {}

Recorder::~Recorder() = default;

Tag Recorder::intern(const Stack& stack, Place place) noexcept {
  const KeptErrno kept;
  try {
    return state_->intern(stack, place);
  } catch (...) {
    warn("out of memory for call sites: some are counted as unknown");
    return 0;
  }
}

void Recorder::record(const Event& event) noexcept {
  const KeptErrno kept;
  try {
    state_->counters.record(event);
    if (event.tag != 0 && is_allocating(event)) state_->tag_times.add(event.tag, event.total_ns);
  } catch (...) {
    count_unrecorded();
  }
}

void Recorder::count_unrecorded() noexcept {
  state_->unrecorded.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::warn(const char* text) noexcept {
  const KeptErrno kept;
  try {
    state_->warn(text);
  } catch (...) {  // no memory for the text of a warning: nothing better can be done
  }
}

RecorderFacts Recorder::facts() const {
  const KeptErrno kept;
  RecorderFacts facts;
  facts.functions = state_->counters.functions();
  facts.devices = state_->counters.devices();
  facts.host = state_->host();
  // Modules after sites: no frame may name a module that is not there.
  state_->sites.copy_to(facts);
  facts.modules = state_->modules.facts();
  for (Tag tag = 0; tag < facts.tags.size(); ++tag) {
    facts.tags[tag].total_ns = state_->tag_times.get(tag);
  }
  facts.unrecorded_calls = state_->unrecorded.load(std::memory_order_relaxed);
  const SystemLock guard(state_->warnings_lock);
  facts.warnings = state_->warnings;
  return facts;
}

Timing Recorder::host_timing() const noexcept { return state_->host(); }

void Recorder::reset_timing() noexcept {
  state_->counters.reset_timing();
  const SystemLock guard(state_->host_lock);
  state_->host_before = {};
}

void Recorder::reset_host_accumulated() noexcept {
  const Timing now = state_->counters.host();
  const SystemLock guard(state_->host_lock);
  state_->host_before = now;
}

}  // namespace vramscope
