// The recorder: interning on one side, counting on the other, and a copy of both for reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "allocator/base/capability.h"
#include "allocator/base/kept_errno.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/own_stack.h"
#include "reporter/record/kept.h"
#include "reporter/record/live_names.h"
#include "reporter/record/python/codes.h"
#include "reporter/record/range_table.h"
#include "reporter/record/recorder_root.h"
#include "reporter/record/recovery.h"
#include "reporter/record/site_table.h"
#include "reporter/record/stack/capture.h"
#include "reporter/record/stack/module_table.h"
#include "reporter/record/stack/stack_table.h"
#include "reporter/record/stream_table.h"
#include "reporter/record/tag_counts.h"
#include "reporter/record/thread_counters.h"
#include "reporter/record/thread_table.h"
#include "reporter/record/trace/trace.h"

namespace vramscope {

namespace {

constexpr std::size_t kMaxWarnings = 100;  // a program may make us warn in a loop

// A known stack is trusted for this many lookups of a thread before the loader is asked whether
// objects were unloaded. Asking costs more than the lookup. If all addresses of a stack are equal
// after an unload, the same object was nearly always loaded again.
constexpr std::uint32_t kLookupsBetweenChecks = 4096;
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t lookups = 0;

trace::What what_of(const Event& event) {
  if (event.change == MemoryChange::none) return trace::What::call;
  return event.change == MemoryChange::came ? trace::What::came : trace::What::went;
}

}  // namespace

struct Recorder::State {
  State(std::size_t function_count, std::size_t max_tags, LiveMemory* live);

  Tag find(StackKey& key, StackNote* note);
  TagGroups intern_new(const StackKey& key, const Stack& stack);
  [[gnu::noinline]] void check_objects() noexcept;
  bool look_for_python();
  void count_temporary(const Event& event);
  void trace_event(trace::What what, const Event& event);
  [[nodiscard]] bool warn(const char* text);
  NewNames names_after(const ToldNames& told) const;
  void tell_names();

  const Kept<RecorderRoot> root;
  LiveNames live_names;
  TraceSlot trace;  // before the counters, which know the trace's lanes
  ThreadCounters counters;
  ModuleTable modules;
  PythonCodes codes;
  std::atomic<DlsymFunction> python_dlsym{nullptr};  // null: nothing looks for an interpreter
  std::atomic<std::uint64_t> python_looked{0};       // number of loaded objects at the last search
  SiteTable sites;
  StackTable stacks;
  TagCounts tag_counts;
  ThreadTable threads;
  StreamTable streams;
  // Tags of origins without a stack, of which only (kind, device) is known; 0: not yet given.
  std::array<std::atomic<Tag>, kKinds * kMaxDevices> plain_tags{};
  std::atomic<Tag>& plain_tag(Place place) {
    return plain_tags[static_cast<std::size_t>(place.kind) * kMaxDevices +
                      place.device % kMaxDevices];
  }
  std::atomic<RangeTable*> ranges{nullptr};
  mutable SystemMutex warnings_lock;
  std::vector<std::string> warnings VRAMSCOPE_GUARDED_BY(warnings_lock);
};

Recorder::State::State(std::size_t function_count, std::size_t max_tags, LiveMemory* live)
    : root(make_kept<RecorderRoot>(live), KeptDelete{live}),
      live_names(live, root->names),
      counters(function_count, live, root->counters),
      sites(std::min(max_tags, kMaxTags)),
      tag_counts(live, root->tag_counts) {
  root->function_count = function_count;
  tell_names();
  root->layout = layout_of_recorder();
  if (live != nullptr) live->header()->recorder.store(root.get(), std::memory_order_release);
}

// Modules and codes are read after sites, so that every module and code that a frame names is
// included. Threads, streams and ranges are known before a tag names them.
NewNames Recorder::State::names_after(const ToldNames& told) const {
  NewNames names;
  names.changes = told.changes;
  sites.copy_to(names.facts, told.known);
  names.modules = modules.changed_since(names.changes.modules);
  codes.copy_to(names.facts, told.sources, told.codes);
  names.threads = threads.changed_since(names.changes.threads);
  names.streams = streams.changed_since(names.changes.streams);
  if (const RangeTable* const watched = ranges.load(std::memory_order_acquire)) {
    names.facts.ranges = watched->facts(told.ranges);
    names.facts.marks = watched->kept_marks(told.marks);
  }
  const SystemLock guard(warnings_lock);
  names.facts.warnings = rows_from(warnings, told.warnings);
  return names;
}

void Recorder::State::tell_names() {
  if (!live_names.is_live()) return;
  threads.note_name();
  live_names.tell([this](const ToldNames& told) { return names_after(told); });
}

void Recorder::State::check_objects() noexcept {
  try {
    modules.refresh();
    (void)look_for_python();
    tell_names();
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

// The stack is not inserted yet, because the callback must get the tag first.
TagGroups Recorder::State::intern_new(const StackKey& key, const Stack& stack) {
  const std::span caller(&key.origin.caller, key.origin.caller != 0 ? 1 : 0);
  std::vector<FrameFact> frames = modules.resolve(stack.view());
  if (stack.python_depth != 0) {
    const PythonInterpreter* const interpreter = python();
    frames = weave(frames, stack.view(), codes.resolve(stack.python_view()),
                   interpreter != nullptr ? interpreter->loop : TextRange{});
  }
  const std::string owner =
      modules.owner(frames.empty() ? modules.resolve(caller) : frames, codes.sources_of(frames));
  if (key.origin.sampling == Sampling::left_out) frames.clear();  // they only decide the owner
  const TagGroups tag = sites.tag(frames, owner, key.origin);
  if (tag.tag == 0) {
    (void)warn("too many call sites: new ones are counted as unknown");
  } else {
    tag_counts.prepare(tag.tag);
  }
  tell_names();
  return tag;
}

// Returns whether an interpreter was found now that was not known before. A library that a program
// loads for itself is visible to that program alone and is found by its name; after the first
// search only a libpython is looked for. The loader is asked for symbols only with a reason: a
// thread that holds its lock may be waiting for this thread.
bool Recorder::State::look_for_python() {
  const DlsymFunction real_dlsym = python_dlsym.load(std::memory_order_acquire);
  const std::uint64_t loaded = modules.loaded();
  if (real_dlsym == nullptr) return false;
  const std::uint64_t before = python_looked.exchange(loaded);
  if (before == loaded) return false;
  const std::string library = modules.loaded_file("libpython");
  if (before != 0 && library.empty()) return false;
  // The thread that takes the function searches; others use the result with their next stack.
  if (python_dlsym.exchange(nullptr) == nullptr) return false;
  std::string version;
  const PythonState state = open_python(real_dlsym, library, version);
  if (state == PythonState::none) python_dlsym.store(real_dlsym, std::memory_order_release);
  if (state == PythonState::unknown) {
    (void)warn(("frames of Python " + version +
                " are not read, only native frames: Vramscope supports " + kKnownPythons)
                   .c_str());
  }
  return state == PythonState::read;
}

struct LastAllocation {  // of the calling thread
  Address address = 0;   // 0: it was freed
  Tag tag = 0;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit LastAllocation last_allocation;

void Recorder::State::count_temporary(const Event& event) {
  if (event.failed) return;
  LastAllocation& last = last_allocation;
  if (is_allocating(event.effect)) {
    // Counted only now: a thread's last allocation may be its only one, and live for the whole run.
    if (last.address == 0 && last.tag != 0) counters.count_temporary(last.tag);
    last = {event.address, event.tag};
  } else if (event.address == last.address && event.tag == last.tag && is_freeing(event.effect)) {
    last.address = 0;
  }
}

void Recorder::State::trace_event(trace::What what, const Event& event) {
  if (Trace* const to = trace.get())
    counters.add_to(*to, {.what = what, .thread = threads.current(), .event = event});
}

// Returns whether the warning is a new one.
bool Recorder::State::warn(const char* text) {
  const SystemLock guard(warnings_lock);
  if (warnings.size() >= kMaxWarnings) return false;
  if (std::find(warnings.begin(), warnings.end(), text) != warnings.end()) return false;
  warnings.emplace_back(text);
  return true;
}

Recorder::Recorder(std::size_t function_count, std::size_t max_tags, LiveMemory* live)
    : state_(std::make_unique<State>(function_count, max_tags,
                                     live != nullptr && live->is_live() ? live : nullptr)) {}

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
    if (state_->look_for_python() || recorded_walk::is_outdated(stack)) {
      Stack again = stack;
      capture_again(again, origin.is_left_out() ? StackPart::few : StackPart::all);
      return intern(again, origin);
    }
    // The frames are live, so their objects stay loaded. If another thread unloads objects
    // meanwhile, this epoch becomes an old one and nobody finds the entry.
    key.epoch = state_->modules.epoch();
    const TagGroups tag = state_->intern_new(key, stack);
    if (tag.tag == 0) {
      state_->root->dropped.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }
    if (callback_.function != nullptr) callback_.function(callback_.context, tag.tag, tag.groups);
    state_->stacks.insert(key, StackTable::hash(key), tag.tag);
    if (is_plain) plain.store(tag.tag, std::memory_order_release);
    return tag.tag;
  } catch (...) {
    warn("out of memory for call sites: some are counted as unknown");
    state_->root->dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
}

[[gnu::flatten]] KnownTag Recorder::known(const Origin& origin, const void* frame) noexcept {
  if (++lookups % kLookupsBetweenChecks == 0) [[unlikely]]
    own_stack::run([this] { state_->check_objects(); });
  if (origin.is_plain() && !captures_frames()) {  // as intern() answers, whoever calls
    const Tag tag = state_->plain_tag(origin.place).load(std::memory_order_acquire);
    if (tag != 0) return {.tag = tag, .is_by_caller = true};
  }
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
    if (callback_.function != nullptr) state_->count_temporary(event);
    state_->trace_event(what_of(event), event);
  } catch (...) {
    count_unrecorded();
  }
}

void Recorder::count_refused(const Event& event) noexcept {
  state_->tag_counts.count_refused(event.tag, event.bytes);
}

void Recorder::enter() noexcept {
  if (trace() == nullptr) return;
  const KeptErrno kept;
  try {
    state_->counters.enter();
  } catch (...) {  // record() tries again
  }
}

void Recorder::record_besides(const Event& event) noexcept {
  using trace::What;
  if (trace() == nullptr) return;
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

TraceSlot& Recorder::traces() noexcept { return state_->trace; }

void Recorder::want_python(DlsymFunction real_dlsym) noexcept {
  const KeptErrno kept;
  try {
    state_->python_dlsym.store(real_dlsym, std::memory_order_release);
    state_->modules.refresh();
    (void)state_->look_for_python();
    state_->tell_names();
  } catch (...) {
    warn("out of memory: Python frames are not read");
  }
}

void Recorder::count_unrecorded() noexcept {
  state_->root->unrecorded.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::warn(const char* text) noexcept {
  const KeptErrno kept;
  try {
    if (state_->warn(text)) state_->tell_names();
  } catch (...) {  // no memory for the warning's text: nothing better can be done
  }
}

RecorderFacts Recorder::facts() const {
  const KeptErrno kept;
  RecorderFacts facts;
  // Modules and codes follow the sites: every module and code that a frame names is included.
  state_->sites.copy_to(facts);
  facts.modules = state_->modules.facts();
  state_->codes.copy_to(facts);
  add_counts(*state_->root, {}, facts);
  // Threads and streams are read after the tags that name them.
  facts.threads = state_->threads.facts();
  facts.streams = state_->streams.facts();
  facts.host = state_->counters.host();
  const SystemLock guard(state_->warnings_lock);
  facts.warnings = state_->warnings;
  return facts;
}

bool Recorder::has_names_beyond(const KnownNames& known) const {
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

Timing Recorder::host_timing() const noexcept { return state_->counters.host(); }

void Recorder::reset_timing() noexcept { state_->counters.reset_timing(); }

void Recorder::reset_host_accumulated() noexcept { state_->counters.reset_host_accumulated(); }

void Recorder::watch(RangeTable& ranges) noexcept {
  if (!state_->live_names.is_live()) return;
  const auto came = [](void* recorder) noexcept {
    State& state = *static_cast<State*>(recorder);
    try {
      state.tell_names();
    } catch (...) {  // the next new name writes them
    }
  };
  state_->ranges.store(&ranges, std::memory_order_release);
  ranges.watch({.came = came, .context = state_.get(), .counts = &state_->root->ranges});
}

}  // namespace vramscope
