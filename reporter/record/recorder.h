// Recorder turns call stacks and origins of allocations into tags, and keeps the totals that the
// allocator does not: times, functions, stacks, modules, warnings. Lives inside the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "allocator/ground/place.h"
#include "reporter/ground/axes.h"
#include "reporter/ground/event.h"
#include "reporter/ground/facts.h"
#include "reporter/record/stack/known_tags.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

class LiveMemory;
class RangeTable;
class StreamTable;
class Trace;

// Threads: any.
class Recorder {
 public:
  // 2^20 tags are 8 MiB of times; a program with more call sites has generated code.
  static constexpr std::size_t kMaxTags = std::size_t{1} << 20;

  // May throw bad_alloc. max_tags: at most kMaxTags; the unknown tag is one of them. live: where
  // recover_facts() finds all that facts() would give, however the process ends; null: nowhere.
  explicit Recorder(std::size_t function_count, std::size_t max_tags = kMaxTags,
                    LiveMemory* live = nullptr);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Called with each tag, and with what it counts in, before the tag is given away; for some tags
  // more than once. Set before the first tag.
  struct TagCallback {
    void (*function)(void* context, Tag tag, const Groups& groups) = nullptr;
    void* context = nullptr;
  };
  void call_for_tags(TagCallback callback) noexcept { callback_ = callback; }

  // Python frames become part of stacks: looks for an interpreter now and whenever a stack is new
  // and objects were loaded since, until one is found. Before the first tag.
  void want_python(DlsymFunction real_dlsym) noexcept;

  // The tag of (stack, origin); the same question gets the same answer. 0 when our memory or the
  // table is exhausted (a warning once, and counted each time). Without a stack the caller tells
  // the owner. Frames of objects that were unloaded since are told apart from those loaded in their
  // place. Asks the loader about objects when a stack is new: hold no lock that the loader's
  // callbacks could want.
  [[nodiscard]] Tag intern(const Stack& stack, const Origin& origin) noexcept;
  [[nodiscard]] Tag intern(const Stack& stack, Place place) noexcept {
    return intern(stack, Origin{.place = place});
  }
  // The live file gets what of `ranges`, which is never destroyed, facts() lacks.
  void watch(RangeTable& ranges) noexcept;
  [[nodiscard]] std::uint32_t current_thread() noexcept;
  [[nodiscard]] StreamTable& streams() noexcept;
  // The tag of the calling thread's stack, if it needs not be taken: the stack comes again, or all
  // that counts is who called the driver. `frame`: of the function of ours that the program called.
  // Takes little of the stack. Threads: any, one call of ours at a time.
  [[nodiscard]] KnownTag known(const Origin& origin, const void* frame) noexcept;
  // intern() gave this tag to a call of the driver from `caller`.
  void know(const Origin& origin, std::uintptr_t caller, Tag tag) noexcept;
  // May change errno.
  void record(const Event& event) noexcept;
  // Of an allocation that failed because memory ran out, beside its event.
  void count_refused(const Event& event) noexcept;
  // A call begins on this thread. A trace takes the changes of a lane in their order: so a thread
  // has its lane before its first change.
  void enter() noexcept;
  // What a call did besides, before its event: memory that came or went (event.change), or that
  // ended with its whole place (none). Only a trace keeps it.
  void record_besides(const Event& event) noexcept;
  // From the next event on; once. Null: there is none.
  void keep(std::unique_ptr<Trace> trace) noexcept;
  [[nodiscard]] Trace* trace() noexcept;
  void count_unrecorded() noexcept;
  // Kept once per text.
  void warn(const char* text) noexcept;

  // May throw bad_alloc.
  [[nodiscard]] RecorderFacts facts() const;
  // Has there been a tag since?
  [[nodiscard]] bool has_names_beyond(const KnownNames& known) const;
  // What tags refer to, frames, sites, owners and tags only from those on that are not known.
  [[nodiscard]] RecorderFacts names(const KnownNames& known) const;
  [[nodiscard]] Timing host_timing() const noexcept;
  // Zeroes counts and times (reset_accumulated) of device/host timing, not the functions.
  void reset_timing() noexcept;
  // Zeroes counts and totals of host timing; shortest and longest stay (PyTorch's
  // reset_accumulated_host_memory_stats).
  void reset_host_accumulated() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
  TagCallback callback_;
};

}  // namespace vramscope
