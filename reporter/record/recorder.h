// Recorder turns call stacks and origins of allocations into tags, and keeps the totals that the
// allocator does not keep: times, functions, stacks, modules, warnings. It lives inside the
// program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "allocator/base/place.h"
#include "reporter/base/axes.h"
#include "reporter/base/event.h"
#include "reporter/base/facts.h"
#include "reporter/record/stack/known_tags.h"
#include "reporter/record/stack/stack.h"
#include "reporter/record/trace/trace_slot.h"

namespace vramscope {

class LiveMemory;
class RangeTable;
class StreamTable;

// Threads: any.
class Recorder {
 public:
  // 2^20 tags take 8 MiB for times. A program with more call sites generates them.
  static constexpr std::size_t kMaxTags = std::size_t{1} << 20;

  // May throw bad_alloc. max_tags: at most kMaxTags, including the unknown tag. live: the memory in
  // which recover_facts() finds everything that facts() would return, however the process ends;
  // null: none.
  explicit Recorder(std::size_t function_count, std::size_t max_tags = kMaxTags,
                    LiveMemory* live = nullptr);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Is called with each tag and its groups before the tag is first returned, for some tags more
  // than once. It must be set before the first tag.
  struct TagCallback {
    void (*function)(void* context, Tag tag, const Groups& groups) = nullptr;
    void* context = nullptr;
  };
  void call_for_tags(TagCallback callback) noexcept { callback_ = callback; }

  // Makes Python frames part of stacks. Looks for an interpreter now, and then at each new stack if
  // objects were loaded since, until one is found. Must be called before the first tag.
  void want_python(DlsymFunction real_dlsym) noexcept;

  // Returns the tag of (stack, origin), always the same for the same arguments. Returns 0 if memory
  // or the table is exhausted: that gives one warning, and each case is counted. Without a stack
  // the caller's address decides the owner. Frames of unloaded objects differ from frames of
  // objects that were loaded in their place. A new stack makes it ask the loader about objects, so
  // the calling thread must hold no lock that callbacks of the loader could want.
  [[nodiscard]] Tag intern(const Stack& stack, const Origin& origin) noexcept;
  [[nodiscard]] Tag intern(const Stack& stack, Place place) noexcept {
    return intern(stack, Origin{.place = place});
  }
  // Writes into the live file what `ranges` knows and facts() lacks. `ranges` is never destroyed.
  void watch(RangeTable& ranges) noexcept;
  [[nodiscard]] std::uint32_t current_thread() noexcept;
  [[nodiscard]] StreamTable& streams() noexcept;
  // Returns the tag of the calling thread's stack if the stack need not be captured: it is a known
  // one, or only the caller of the driver counts. frame: the frame of our function that the program
  // called. Uses little stack. Threads: any, one of our calls at a time.
  [[nodiscard]] KnownTag known(const Origin& origin, const void* frame) noexcept;
  // Notes that intern() gave this tag to a call of the driver from `caller`.
  void know(const Origin& origin, std::uintptr_t caller, Tag tag) noexcept;
  // Counts an event. May change errno.
  void record(const Event& event) noexcept;
  // Counts an allocation that failed because memory ran out, in addition to its event.
  void count_refused(const Event& event) noexcept;
  // Tells that a call begins on this thread. A trace keeps the changes of a lane in order, so a
  // thread must have its lane before its first change.
  void enter() noexcept;
  // Records what a call did in addition to its own event, before that event: memory that was
  // allocated or freed (event.change), or that ended with its whole place (no change). Only a trace
  // keeps it.
  void record_besides(const Event& event) noexcept;
  // The trace into which events are recorded.
  [[nodiscard]] TraceSlot& traces() noexcept;
  [[nodiscard]] Trace* trace() noexcept { return traces().get(); }
  void count_unrecorded() noexcept;
  // Adds a warning to reports. Equal texts are kept once.
  void warn(const char* text) noexcept;

  // May throw bad_alloc.
  [[nodiscard]] RecorderFacts facts() const;
  // Returns whether there has been a tag that `known` lacks.
  [[nodiscard]] bool has_names_beyond(const KnownNames& known) const;
  // Returns what tags refer to. Of frames, sites, owners and tags it has only those that `known`
  // lacks.
  [[nodiscard]] RecorderFacts names(const KnownNames& known) const;
  [[nodiscard]] Timing host_timing() const noexcept;
  // Resets counts and times of the timing of devices and host (reset_accumulated), not the
  // functions' totals.
  void reset_timing() noexcept;
  // Resets counts and totals of the host's timing. Minima and maxima stay, as in PyTorch's
  // reset_accumulated_host_memory_stats.
  void reset_host_accumulated() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
  TagCallback callback_;
};

}  // namespace vramscope
