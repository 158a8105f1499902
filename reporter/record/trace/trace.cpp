// Collects what threads recorded.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/trace.h"

#include <array>
#include <ctime>
#include <new>
#include <utility>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/nap.h"
#include "reporter/record/trace/trace_slot.h"

namespace vramscope {

namespace {

constexpr int kPatience = 1000;         // tries, about a second in total
constexpr int kPatienceAtAnEnd = 20;    // tries of an ending thread
constexpr long kPauseNs = 1'000'000;    // between two tries
constexpr std::uint32_t kNoLane = ~0U;  // the lane of chunks that are not events

}  // namespace

TraceSlot::TraceSlot() noexcept = default;
TraceSlot::~TraceSlot() = default;

std::unique_ptr<Trace> TraceSlot::keep(std::unique_ptr<Trace> trace) noexcept {
  now_.store(trace.get(), std::memory_order_release);
  return std::exchange(kept_, std::move(trace));
}

Trace::Trace(std::unique_ptr<ChunkSink> sink, Bell bell) noexcept
    : sink_(std::move(sink)), bell_(bell) {}

Trace::~Trace() {
  for (TraceLane* lane = lanes_.load(std::memory_order_acquire); lane != nullptr;) {
    TraceLane* const next = lane->next;
    delete lane;
    lane = next;
  }
}

TraceLane* Trace::new_lane() noexcept {
  auto* const lane =
      new (std::nothrow) TraceLane(lane_count_.fetch_add(1, std::memory_order_relaxed), this);
  if (lane == nullptr) return nullptr;
  lane->next = lanes_.load(std::memory_order_relaxed);
  while (!lanes_.compare_exchange_weak(lane->next, lane, std::memory_order_acq_rel)) {
  }
  return lane;
}

void Trace::count(const TraceLane::Written& written) noexcept {
  events_.fetch_add(written.events, std::memory_order_relaxed);
  if (written.lost != 0) lost_.fetch_add(written.lost, std::memory_order_relaxed);
}

void Trace::add(TraceLane*& lane, const TraceEvent& event) noexcept {
  if (ended_.load(std::memory_order_relaxed)) return;
  if (lane == nullptr || lane->trace != this) lane = new_lane();
  if (lane == nullptr) [[unlikely]] {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  TraceLane::Written written;
  if (!lane->add(event, *sink_, written)) [[likely]]
    return;
  count(written);
  if (bell_.ring != nullptr) bell_.ring(bell_.context);
}

void Trace::write_halves(TraceLane::Which which) noexcept {
  TraceLane::Written written;
  for (TraceLane* lane = lanes_.load(std::memory_order_acquire); lane != nullptr;
       lane = lane->next) {
    // A half that another thread is writing needs no help.
    static_cast<void>(lane->empty(which, *sink_, written));
  }
  count(written);
}

void Trace::write_events() noexcept {
  TraceLane::Written written;
  // If the ending thread is inside a call of ours, its lane stays as it is.
  int tries = EndingThread::is_amid_call() ? kPatienceAtAnEnd : kPatience;
  for (TraceLane* lane = lanes_.load(std::memory_order_acquire); lane != nullptr;
       lane = lane->next) {
    while (!lane->empty(TraceLane::Which::all, *sink_, written) && tries-- > 0) {
      const timespec pause{.tv_sec = 0, .tv_nsec = kPauseNs};
      nap(pause);
    }
  }
  count(written);
}

void Trace::write(ChunkType type, std::span<const std::byte> content) noexcept {
  ChunkHead head{.type = type,
                 .flags = ChunkHead::kLast,
                 .lane = kNoLane,
                 .part = chunks_.fetch_add(1, std::memory_order_relaxed),
                 .bytes = static_cast<std::uint32_t>(content.size())};
  seal(head, content);
  // A failure to write is counted with the events that it makes unreadable, which is none here.
  static_cast<void>(sink_->write(std::as_bytes(std::span(&head, 1)), content));
}

void Trace::write(ChunkType type, const TraceFacts::Chunks& chunks) noexcept {
  for (const std::string& chunk : chunks) write(type, std::as_bytes(std::span(chunk)));
}

void Trace::add_segment(const SegmentChange& change) noexcept {
  if (ended_.load(std::memory_order_relaxed)) return;
  std::array<std::byte, kMostSegmentBytes> content;  // NOLINT: written before it is read
  const std::byte* const end = put_segment(change, content.data());
  write(ChunkType::segments, std::span<const std::byte>(content.data(), end));
}

void Trace::add_unrecorded(const UnrecordedChange& change) noexcept {
  if (ended_.load(std::memory_order_relaxed)) return;
  std::array<std::byte, kMostSegmentBytes> content;  // NOLINT: written before it is read
  const std::byte* const end = put_unrecorded(change, content.data());
  write(ChunkType::unrecorded, std::span<const std::byte>(content.data(), end));
}

void Trace::begin(const TraceProcess& process, const std::vector<std::string>& functions) noexcept {
  const SystemLock lock(facts_lock_);
  try {
    write(ChunkType::facts, facts_.first(process, functions));
    write(ChunkType::settings, TraceFacts::settings(process));
  } catch (const std::bad_alloc&) {  // the events stay readable, without names
  }
}

void Trace::begin_amid(const TraceBegin& begin, std::span<const Event> live) {
  for (const std::string& chunk : put_begin(begin, live)) {
    write(ChunkType::begin, std::as_bytes(std::span(chunk)));
  }
}

KnownNames Trace::known() noexcept {
  const SystemLock lock(facts_lock_);
  return facts_.known();
}

void Trace::write_names(const RecorderFacts& names, const KnownNames& known) noexcept {
  const SystemLock lock(facts_lock_);
  if (!(facts_.known() == known)) return;  // another thread has just written them
  try {
    write(ChunkType::facts, facts_.next(names));
    write(ChunkType::marks, facts_.next_marks(names));
    write(ChunkType::repeated_marks, TraceFacts::repeated_marks(names));
  } catch (const std::bad_alloc&) {  // the next call writes them
  }
}

Trace::Totals Trace::write_mark() noexcept {
  const Totals totals{.events = events_.load(std::memory_order_relaxed),
                      .lost = lost_.load(std::memory_order_relaxed)};
  const SystemLock lock(facts_lock_);
  try {
    write(ChunkType::mark, {trace_mark(totals.events, totals.lost)});
  } catch (const std::bad_alloc&) {  // the mark is missing: the trace looks as after a crash
  }
  return totals;
}

}  // namespace vramscope
