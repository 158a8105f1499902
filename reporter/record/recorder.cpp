// The recorder: interning on one side, counting on the other, and a copy of both for reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "allocator/ground/capability.h"
#include "allocator/ground/kept_errno.h"
#include "allocator/ground/live_memory.h"
#include "allocator/ground/own_stack.h"
#include "reporter/record/python/codes.h"
#include "reporter/record/recorder_root.h"
#include "reporter/record/site_table.h"
#include "reporter/record/stack/capture.h"
#include "reporter/record/stack/module_table.h"
#include "reporter/record/stack/stack_table.h"
#include "reporter/record/stream_table.h"
#include "reporter/record/tag_times.h"
#include "reporter/record/thread_counters.h"
#include "reporter/record/thread_table.h"
#include "reporter/record/trace/trace.h"

namespace vramscope {

namespace {

constexpr std::size_t kMaxWarnings = 100;  // a program may make us warn in a loop

// A known stack is trusted for this many lookups of a thread before the loader is asked whether
// objects were unloaded: asking costs more than the lookup, and the same addresses all along a
// stack after an unload nearly always mean the same object, loaded again.
constexpr std::uint32_t kLookupsBetweenChecks = 4096;
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t lookups = 0;

trace::What what_of(const Event& event) {
  if (event.change == MemoryChange::none) return trace::What::call;
  return event.change == MemoryChange::came ? trace::What::came : trace::What::went;
}

}  // namespace

struct Recorder::State {
  State(std::size_t function_count, std::size_t max_tags)
      : counters(function_count), sites(std::min(max_tags, kMaxTags)) {}

  Tag find(StackKey& key, StackNote* note);
  TagGroups intern_new(const StackKey& key, const Stack& stack);
  [[gnu::noinline]] void check_objects() noexcept;
  bool look_for_python();
  void count_temporary(const Event& event);
  void trace_event(trace::What what, const Event& event);
  void warn(const char* text);
  Timing host() const;

  std::unique_ptr<Trace> trace;  // before the counters, which know its lanes
  ThreadCounters counters;
  ModuleTable modules;
  PythonCodes codes;
  std::atomic<DlsymFunction> python_dlsym{nullptr};  // null: nobody looks for an interpreter
  std::atomic<std::uint64_t> python_looked{0};       // at so many objects loaded
  SiteTable sites;
  StackTable stacks;
  TagTimes tag_times;
  ThreadTable threads;
  StreamTable streams;
  // Of origins of which nothing but the (kind, device) is known, without a stack; 0: not yet.
  std::array<std::atomic<Tag>, kKinds * kMaxDevices> plain_tags{};
  std::atomic<Tag>& plain_tag(Place place) {
    return plain_tags[static_cast<std::size_t>(place.kind) * kMaxDevices +
                      place.device % kMaxDevices];
  }
  std::atomic<std::uint64_t> unrecorded{0};
  std::atomic<std::uint64_t> dropped{0};
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

void Recorder::State::check_objects() noexcept {
  try {
    modules.refresh();
    (void)look_for_python();
  } catch (...) {  // the next check looks again
  }
}

Tag Recorder::State::find(StackKey& key, StackNote* note) {
  if (++lookups % kLookupsBetweenChecks == 0) check_objects();
  key.epoch = modules.epoch();
  if (note == nullptr) return stacks.find(key, StackTable::hash(key));
  const auto rest = key.rest();
  if (note->tag != 0 && note->rest == rest) return note->tag;
  note->rest = rest;
  note->tag = stacks.find(key, StackTable::hash(key));
  return note->tag;
}

// The stack is not inserted yet: first the callback gets the tag.
TagGroups Recorder::State::intern_new(const StackKey& key, const Stack& stack) {
  const std::span caller(&key.origin.caller, key.origin.caller != 0 ? 1 : 0);
  std::vector<FrameFact> frames = modules.resolve(stack.view());
  const std::string owner = modules.owner(frames.empty() ? modules.resolve(caller) : frames);
  if (key.origin.sampling == Sampling::left_out) {
    frames.clear();  // they tell the owner, no more
  } else if (stack.python_depth != 0) {
    const PythonInterpreter* const interpreter = python();
    frames = weave(frames, stack.view(), codes.resolve(stack.python_view()),
                   interpreter != nullptr ? interpreter->loop : TextRange{});
  }
  const TagGroups tag = sites.tag(frames, owner, key.origin);
  if (tag.tag == 0) {
    warn("too many call sites: further ones are counted as unknown");
  } else {
    tag_times.prepare(tag.tag);
  }
  return tag;
}

// Whether there is one now and was none. A library that a program loads for itself is visible to it
// alone, and is found by its name; after the first search only a libpython is looked for. So the
// loader is asked for symbols when there is reason to: who holds its lock may be waiting for this
// thread.
bool Recorder::State::look_for_python() {
  const DlsymFunction real_dlsym = python_dlsym.load(std::memory_order_acquire);
  const std::uint64_t loaded = modules.loaded();
  if (real_dlsym == nullptr) return false;
  const std::uint64_t before = python_looked.exchange(loaded);
  if (before == loaded) return false;
  const std::string library = modules.loaded_file("libpython");
  if (before != 0 && library.empty()) return false;
  // Who takes it away looks; the others find what it finds with their next stack.
  if (python_dlsym.exchange(nullptr) == nullptr) return false;
  std::string version;
  const PythonState state = open_python(real_dlsym, library, version);
  if (state == PythonState::none) python_dlsym.store(real_dlsym, std::memory_order_release);
  if (state == PythonState::unknown) {
    warn(("frames of Python " + version + " are not read, only native ones: known are " +
          kKnownPythons)
             .c_str());
  }
  return state == PythonState::read;
}

// A thread's last allocation, while it lives and none has followed.
struct LastAllocation {
  Address address = 0;
  Tag tag = 0;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit LastAllocation last_allocation;

void Recorder::State::count_temporary(const Event& event) {
  if (event.failed) return;
  if (is_allocating(event.effect)) {
    last_allocation = {event.address, event.tag};
  } else if (event.address == last_allocation.address && event.tag == last_allocation.tag &&
             is_freeing(event.effect)) {
    if (event.tag != 0) tag_times.count_temporary(event.tag);
    last_allocation = {};
  }
}

void Recorder::State::trace_event(trace::What what, const Event& event) {
  counters.add_to(*trace, {.what = what, .thread = threads.current(), .event = event});
}

void Recorder::State::warn(const char* text) {
  const SystemLock guard(warnings_lock);
  if (warnings.size() >= kMaxWarnings) return;
  if (std::find(warnings.begin(), warnings.end(), text) != warnings.end()) return;
  warnings.emplace_back(text);
}

Recorder::Recorder(std::size_t function_count, std::size_t max_tags, LiveMemory* live)
    : state_(std::make_unique<State>(function_count, max_tags)) {
  if (live == nullptr || !live->is_live()) return;
  auto* const root = live->make<RecorderRoot>();
  if (root == nullptr) throw std::bad_alloc();
  root->function_count = function_count;
  live->header()->recorder.store(root, std::memory_order_release);
}

Recorder::~Recorder() = default;

Tag Recorder::intern(const Stack& stack, const Origin& origin) noexcept {
  const KeptErrno kept;
  try {
    const bool is_plain = stack.words().empty() && origin.is_plain();
    std::atomic<Tag>& plain = state_->plain_tag(origin.place);
    if (is_plain) {
      if (const Tag tag = plain.load(std::memory_order_acquire)) return tag;
    }
    StackKey key{.frames = stack.words(), .origin = origin};
    if (key.frames.empty() && origin.caller != 0) key.frames = {&key.origin.caller, 1};
    if (const Tag tag = state_->find(key, stack.note)) return tag;
    state_->modules.refresh();
    if (state_->look_for_python()) {
      Stack with_python = stack;
      capture_python_again(with_python);
      return intern(with_python, origin);
    }
    // The frames are live, so their objects stay loaded; what another thread unloads meanwhile only
    // makes this epoch an old one, whose entry nobody finds.
    key.epoch = state_->modules.epoch();
    const TagGroups tag = state_->intern_new(key, stack);
    if (tag.tag == 0) {
      state_->dropped.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }
    if (callback_.function != nullptr) callback_.function(callback_.context, tag.tag, tag.groups);
    state_->stacks.insert(key, StackTable::hash(key), tag.tag);
    if (is_plain) plain.store(tag.tag, std::memory_order_release);
    return tag.tag;
  } catch (...) {
    warn("out of memory for call sites: some are counted as unknown");
    state_->dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
}

[[gnu::flatten]] KnownTag Recorder::known(const Origin& origin, const void* frame) noexcept {
  if (++lookups % kLookupsBetweenChecks == 0) [[unlikely]]
    own_stack::run([this] { state_->check_objects(); });
  return known_tags::find(state_.get(), state_->modules.epoch(), origin, frame);
}

void Recorder::know(const Origin& origin, std::uintptr_t caller, Tag tag) noexcept {
  const KeptErrno kept;
  try {
    known_tags::note(state_.get(), state_->modules, origin, caller, tag);
  } catch (...) {  // the next call asks again
  }
}

[[gnu::flatten]] void Recorder::record(const Event& event) noexcept {
  try {
    state_->counters.record(event);
    if (event.tag != 0 && is_allocating(event.effect)) {
      state_->counters.add_time(event.tag, event.total_ns, state_->tag_times);
    }
    if (callback_.function != nullptr) state_->count_temporary(event);
    if (state_->trace) state_->trace_event(what_of(event), event);
  } catch (...) {
    count_unrecorded();
  }
}

void Recorder::count_refused(const Event& event) noexcept {
  state_->tag_times.count_refused(event.tag, event.bytes);
}

void Recorder::enter() noexcept {
  if (!state_->trace) return;
  const KeptErrno kept;
  try {
    state_->counters.enter();
  } catch (...) {  // the event tries again
  }
}

void Recorder::record_besides(const Event& event) noexcept {
  using trace::What;
  if (!state_->trace) return;
  const KeptErrno kept;
  try {
    state_->trace_event(event.change == MemoryChange::came   ? What::came_besides
                        : event.change == MemoryChange::went ? What::went_besides
                                                             : What::place_ended,
                        event);
  } catch (...) {
    count_unrecorded();
  }
}

void Recorder::keep(std::unique_ptr<Trace> trace) noexcept { state_->trace = std::move(trace); }
Trace* Recorder::trace() noexcept { return state_->trace.get(); }

void Recorder::want_python(DlsymFunction real_dlsym) noexcept {
  const KeptErrno kept;
  try {
    state_->python_dlsym.store(real_dlsym, std::memory_order_release);
    state_->modules.refresh();
    (void)state_->look_for_python();
  } catch (...) {
    warn("out of memory: Python frames are not read");
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
  // Modules and codes after sites: no frame may name one that is not there.
  state_->sites.copy_to(facts);
  facts.modules = state_->modules.facts();
  state_->codes.copy_to(facts);
  std::vector<std::uint64_t> kept_by_threads(facts.tags.size());
  state_->counters.add_times_to(kept_by_threads);
  for (Tag tag = 0; tag < facts.tags.size(); ++tag) {
    facts.tags[tag].total_ns = state_->tag_times.get(tag) + kept_by_threads[tag];
    facts.tags[tag].temporary = state_->tag_times.temporary(tag);
    const TagTimes::Refused refused = state_->tag_times.refused(tag);
    facts.tags[tag].refused_count = refused.count;
    facts.tags[tag].refused_bytes = refused.bytes;
  }
  // After the tags, which name them.
  facts.threads = state_->threads.facts();
  facts.streams = state_->streams.facts();
  facts.unrecorded_calls = state_->unrecorded.load(std::memory_order_relaxed);
  facts.dropped_stacks = state_->dropped.load(std::memory_order_relaxed);
  const SystemLock guard(state_->warnings_lock);
  facts.warnings = state_->warnings;
  return facts;
}

bool Recorder::has_names_beyond(const KnownNames& known) const noexcept {
  return state_->sites.tag_count() > known.tags;
}

RecorderFacts Recorder::names(const KnownNames& known) const {
  const KeptErrno kept;
  RecorderFacts names;
  state_->sites.copy_to(names, known);
  names.modules = state_->modules.facts();
  state_->codes.copy_to(names);
  names.threads = state_->threads.facts();
  names.streams = state_->streams.facts();
  return names;
}

std::uint32_t Recorder::current_thread() noexcept { return state_->threads.current(); }
StreamTable& Recorder::streams() noexcept { return state_->streams; }

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
