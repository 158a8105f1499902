// SPDX-License-Identifier: Apache-2.0
#include "interpose/call/call.h"

#include <atomic>

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"
#include "allocator/base/leaving.h"
#include "allocator/base/own_stack.h"
#include "interpose/base/event_of.h"
#include "interpose/base/guard.h"
#include "interpose/call/deferred_frees.h"
#include "interpose/loader/real.h"
#include "interpose/tools/nvtx.h"
#include "reporter/record/sampling.h"
#include "reporter/record/stack/capture.h"
#include "reporter/record/stream_table.h"

namespace vramscope {

namespace {

[[gnu::cold, gnu::noinline]] void end_with_what_is_due(Profiler& profiler, int& errno_place,
                                                       int kept) {
  deferred_frees::complete(profiler);
  guard_mark = 0;
  errno_place = kept;
  if (leaving::is_on()) leaving::go_on();
}

// Copies the place in one load, as it was stored, since partial loads would stall.
Place of_kind(Kind kind, const Place& here) {
  return kind == Kind::device ? here : in_context(kind, here.device, here.context);
}

[[gnu::noinline]] Sampling sampled(std::size_t bytes, std::uint64_t every) {
  return every == Profiler::kNoStacks ? Sampling::left_out : choose(bytes, every);
}

// Describes a device at the first question about it.
[[gnu::cold, gnu::noinline]] void ask_what_is_free(const Call& call, std::uint16_t device) {
  Place here;
  const bool can_ask = call.find_place(here) && here.device == device;
  if (can_ask) call.profiler().backend().renew_sample(device);
}

}  // namespace

// The mark is set first, so that a child that a signal handler forks from here on is prepared for a
// call.
Call::Call(Function function, Effect effect, Kind kind, const void* frame) noexcept
    : profiler_(nullptr),
      event_{.function = static_cast<std::uint16_t>(function),
             .effect = effect,
             .place = {.kind = kind}},
      frame_(frame),
      errno_place_(&errno),
      errno_(*errno_place_) {
  if (is_guarded(this)) return;
  guard_mark = stack_address(this);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  profiler_ = Profiler::active();
  if (profiler_ == nullptr) {
    guard_mark = 0;
    return;
  }
  event_.start_ns = now_ns();
  call_time_ns = event_.start_ns;
  if (profiler_->traces()) profiler_->recorder().enter();
}

Call::~Call() noexcept(false) {
  if (profiler_ == nullptr) return;
  if (guard_due.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    end_with_what_is_due(*profiler_, *errno_place_, errno_);
    return;
  }
  guard_mark = 0;
  *errno_place_ = errno_;
}

std::optional<CUresult> Call::defer_free(Function function, Address address) noexcept {
  Profiler* profiler = guard_mark != 0 ? Profiler::active() : nullptr;
  if (profiler == nullptr) return std::nullopt;
  switch (deferred_frees::defer(*profiler, function, address)) {
    case deferred_frees::Answer::deferred:
      return CUDA_SUCCESS;
    case deferred_frees::Answer::invalid:
      return CUDA_ERROR_INVALID_VALUE;
    case deferred_frees::Answer::foreign:
      break;
  }
  return std::nullopt;
}

bool Call::find_place(Kind kind, Place& place) const noexcept {
  const Contexts::Current current = profiler_->contexts().current();
  if (current.code != CUDA_SUCCESS) return false;
  if (current.first_of_device) profiler_->used_devices().note(current.place.device);
  here_ = current.place;
  place = of_kind(kind, current.place);
  return true;
}

bool Call::find_place(Place& place) const noexcept { return find_place(event_.place.kind, place); }

Origin Call::origin(Place place, std::size_t bytes) const noexcept {
  const std::uint64_t every = profiler_->stack_distance().load(std::memory_order_relaxed);
  const Sampling sampling = every == 0 ? Sampling::every : sampled(bytes, every);
  const std::uint8_t size_class = size_class_of(bytes);
  if (!profiler_->attributes()) {
    // Estimates from samples need the size class.
    return {.place = place,
            .size_class = every == 0 ? std::uint8_t{0} : size_class,
            .sampling = sampling};
  }
  Recorder& recorder = profiler_->recorder();
  const RangeTable* const named = ranges();
  return {.place = place,
          .function = event_.function,
          .size_class = size_class,
          .thread = recorder.current_thread(),
          .stream = stream_ ? recorder.streams().number_of(to_address(*stream_)) : 0,
          .range = named == nullptr ? 0 : named->current(),
          .caller = caller(),
          .sampling = sampling};
}

Tag Call::tag_of(const Origin& asked, Stack& stack) noexcept {
  const bool is_left_out = asked.sampling == Sampling::left_out;
  capture(stack, is_left_out ? StackPart::few : StackPart::all);
  const Tag tag = profiler_->recorder().intern(stack, asked);
  profiler_->recorder().know(asked, caller(), tag);
  return tag;
}

Tag Call::take_tag(const Origin& asked) noexcept {
  Stack stack;
  return tag_of(asked, stack);
}

Tag Call::tag(Place place, std::size_t bytes) noexcept {
  const Origin asked = origin(place, bytes);
  Tag tag = profiler_->recorder().known(asked, frame_).tag;
  if (tag == 0) own_stack::run([&] { tag = take_tag(asked); });
  return tag;
}

void Call::take_stack(const Origin& asked, const KnownTag& known, Request& request) noexcept {
  Stack stack;
  request.tag = tag_of(asked, stack);
  if (!profiler_->may_be_part(request.bytes)) return;
  const bool is_left_out = asked.sampling == Sampling::left_out;
  const std::uint64_t key = is_left_out ? stack.hash() : request.tag;
  const Address from = caller();
  const bool is_by_caller = known.is_by_caller || stack.depth == 0;
  Exporters& exporters = profiler_->exporters();
  request.dedicated = is_by_caller ? exporters.wants_dedicated({&from, 1}, from)
                                   : exporters.wants_dedicated(stack.view(), key);
}

Request Call::request(Place place, std::size_t bytes) noexcept {
  const Origin asked = origin(place, bytes);
  const bool may_be_part = profiler_->may_be_part(bytes);  // else it can be exported
  const KnownTag known = profiler_->recorder().known(asked, frame_);
  Request request{.where = place, .bytes = bytes, .tag = known.tag};
  if (known.tag != 0) {
    if (!may_be_part) return request;
    // The tag of an unsampled call stands for many stacks.
    const bool is_left_out = asked.sampling == Sampling::left_out;
    const std::uint64_t key = known.is_by_caller ? caller()
                              : is_left_out      ? known.stack
                                                 : std::uint64_t{known.tag};
    if (const auto wanted = profiler_->exporters().known(key)) {
      request.dedicated = *wanted;
      return request;
    }
  }
  own_stack::run([&] { take_stack(asked, known, request); });
  return request;
}

void Call::note(const Outcome& outcome) noexcept {
  const bool came = event_.effect == Effect::allocate;
  note_outcome(event_, came ? MemoryChange::came : MemoryChange::went, outcome);
  event_.driver_ns += outcome.backend_ns;
  event_.sync_ns += outcome.wait_ns;
  if (!outcome.status.ok()) [[unlikely]] {
    by_limit_ = outcome.by_limit;
    counted_bytes_ = outcome.counted_bytes;
  }
  const bool asked_driver = outcome.backend_ns != 0;
  event_.served = asked_driver ? Served::driver : Served::hit;
  if (outcome.has_sample) {
    profiler_->unrecorded_use().note_unrecorded(outcome.where.device, outcome.unrecorded_bytes);
  }
}

Place Call::place_of(Kind kind) const noexcept {
  if (here_) return of_kind(kind, *here_);
  Place place{.kind = kind};
  (void)find_place(kind, place);
  return place;
}

Tag Call::describe(Place where, Address address, std::size_t bytes) noexcept {
  event_.place = where;
  event_.address = address;
  event_.bytes = bytes;
  if (bytes != 0) event_.tag = tag(where, bytes);
  return event_.tag;
}

void Call::adopt(Place where, Address address, std::size_t bytes) noexcept {
  describe(where, address, bytes);
  if (bytes == 0) return;
  profiler_->releases().end_before(profiler_->allocator(), where.kind, address, bytes);
  const Outcome outcome = profiler_->allocator().adopt(where, address, bytes, event_.tag, promise_);
  if (!outcome.status.ok()) return count_unrecorded();
  note_outcome(event_, MemoryChange::came, outcome);
}

Found Call::find(Kind kind, Address address) noexcept {
  const bool is_of_other_memory = event_.change != MemoryChange::none;
  if (!is_of_other_memory) event_.address = address;
  const Found found = profiler_->allocator().find_direct(kind, address);
  if (!found.direct || found.segment != address) return {};
  if (is_of_other_memory) return found;
  event_.bytes = found.block.requested_size;
  event_.tag = found.block.tag;
  event_.place = found.where;
  return found;
}

void Call::forget(const Found& found, const Releases::Underway* release) noexcept {
  if (!found.direct || fault(Fault::release_unrecorded)) return;
  Outcome gone = profiler_->allocator().forget(found.where.kind, found.segment, found.serial);
  if (!gone.status.ok() && release != nullptr) gone = release->ended();
  note_gone(gone);
}

void Call::forget(const Releases::Underway& release) noexcept {
  if (fault(Fault::release_unrecorded)) return;
  note_gone(release.forget(profiler_->allocator(), event_.place.kind, event_.address));
}

// The event describes the first memory that was freed; the others are side effects.
void Call::note_gone(const Outcome& gone) noexcept {
  if (!gone.status.ok()) return;
  if (event_.change != MemoryChange::none) {
    return profiler_->recorder().record_besides(event_of(MemoryChange::went, gone));
  }
  note_outcome(event_, MemoryChange::went, gone);
}

// After a driver call for memory: reports the growth, and now and then samples the device's free
// memory, so that the use by others is known as of about the last such call. Frees that the cache
// keeps also sample, but rarely; otherwise a program that the cache always serves would never
// notice that others need its idle memory.
inline void Call::renew_sample(std::uint64_t end_ns) noexcept {
  const Place place = event_.place;
  const bool is_hit = event_.served == Served::hit;
  const bool came = event_.change == MemoryChange::came;
  const bool asks = event_.change == MemoryChange::went || (came && !is_hit);
  if (!asks || !takes_device_memory(place.kind)) return;
  if (came) profiler_->tell_grown();
  const std::uint64_t age_ns =
      is_hit ? CudaBackend::kSampleAmidHitsNs : CudaBackend::kSampleEveryNs;
  if (profiler_->backend().is_sample_old(place.device, end_ns, age_ns)) [[unlikely]]
    ask_what_is_free(*this, place.device);
}

void Call::name_refused() noexcept {
  if (event_.tag != 0) return;
  event_.place = place_of(event_.place.kind);
  event_.tag = tag(event_.place, event_.bytes);
}

// Asks the driver on this thread, because no thread of ours has a context.
void Call::tell_refused() noexcept {
  Refusal refusal{.event = event_, .by_limit = by_limit_, .counted_bytes = counted_bytes_};
  Place here;
  const bool can_ask = has_device(event_.place.kind) && !profiler_->captures().any() &&
                       find_place(event_.place.kind, here) && here.device == event_.place.device;
  if (can_ask) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (real().cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS) {
      profiler_->backend().note_free_memory(here.device, free_bytes, total_bytes);
      refusal.free_bytes = free_bytes;
      refusal.total_bytes = total_bytes;
    }
  }
  profiler_->recorder().count_refused(event_);
  profiler_->tell_refused(refusal);
}

void Call::tell_served() noexcept {
  if (!event_.failed && is_allocating(event_.effect)) profiler_->tell_served(event_);
}

CUresult Call::finish(CUresult code) noexcept {
  if (profiler_ == nullptr) return code;
  event_.failed = code != CUDA_SUCCESS && !fault(Fault::failure_unrecorded);
  const std::uint64_t end_ns = answered_ns_ != 0 ? answered_ns_ : now_ns();
  event_.total_ns = end_ns > event_.start_ns ? end_ns - event_.start_ns : 0;
  const bool is_refused = code == CUDA_ERROR_OUT_OF_MEMORY && is_allocating(event_.effect);
  if (is_refused) [[unlikely]]
    name_refused();
  profiler_->recorder().record(event_);
  if (is_refused) [[unlikely]]
    tell_refused();
  else if (event_.bytes >= profiler_->wanted_bytes().load(std::memory_order_relaxed)) [[unlikely]]
    tell_served();
  if (fault(Fault::double_record)) profiler_->recorder().record(event_);
  renew_sample(end_ns);
  return code;
}

}  // namespace vramscope
