// One intercepted call.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/call.h"

#include "interpose/nested.h"

namespace vramscope {
namespace {

constinit thread_local volatile bool inside = false;  // signal handlers ask too

}  // namespace

Call::Call(Function function, const void* caller) noexcept
    : profiler_(inside ? nullptr : Profiler::active()), caller_(caller), errno_(errno) {
  if (profiler_ == nullptr) return;
  inside = true;
  event_.function = static_cast<std::uint16_t>(function);
  event_.effect = row(function).effect;
  event_.place.kind = row(function).kind;
  event_.start_ns = now_ns();
}

Call::~Call() {
  if (profiler_ == nullptr) return;
  if (nested::any()) nested::complete(*profiler_);
  inside = false;
  errno = errno_;
}

std::optional<CUresult> Call::keep_nested(Function function, Address address) noexcept {
  Profiler* profiler = inside ? Profiler::active() : nullptr;
  if (profiler == nullptr) return std::nullopt;
  switch (nested::keep(*profiler, function, address)) {
    case nested::Answer::kept:
      return CUDA_SUCCESS;
    case nested::Answer::invalid:
      return CUDA_ERROR_INVALID_VALUE;
    case nested::Answer::foreign:
      break;
  }
  return std::nullopt;
}

bool Call::find_place(Place& place) const noexcept {
  const Contexts::Current current = profiler_->contexts().current();
  if (current.code != CUDA_SUCCESS) return false;
  if (current.first_of_device) profiler_->note_device(current.place.device);
  place = in_context(event_.place.kind, current.place.device, current.place.context);
  return true;
}

Tag Call::tag(Place place) noexcept {
  Stack stack;
  capture(stack);
  return profiler_->recorder().intern(stack, place);
}

Request Call::request(Place place, std::size_t bytes) noexcept {
  Stack stack;
  capture(stack);
  const Tag who = profiler_->recorder().intern(stack, place);
  const bool whole = profiler_->exporters().wants_whole(stack, who, to_address(caller_));
  return {.where = place, .bytes = bytes, .tag = who, .whole = whole};
}

void Call::note(const Outcome& outcome) noexcept {
  event_.address = outcome.address;
  event_.bytes = outcome.requested;
  event_.tag = outcome.tag;
  event_.place = outcome.where;
  event_.driver_ns += outcome.backend_ns;
  event_.sync_ns += outcome.wait_ns;
  const bool asked_driver = outcome.backend_ns != 0;
  event_.served = asked_driver ? Served::driver : Served::hit;
}

void Call::adopt(Address address, std::size_t bytes) noexcept {
  Place place;
  if (!find_place(place)) place = {.kind = event_.place.kind};
  const Tag who = tag(place);
  const Outcome outcome = profiler_->allocator().adopt(place, address, bytes, who, promise_);
  event_.place = place;
  event_.address = address;
  event_.bytes = bytes;
  event_.tag = who;
  if (!outcome.status.ok() && bytes != 0) profiler_->recorder().count_unrecorded();
}

// Kinds of memory that a function with this row's kind can end: cuMemFree takes what
// cuMemAllocAsync and cuMemAllocManaged gave, and the other way round.
bool Call::ends(Kind kind) const noexcept {
  const Kind own = row(static_cast<Function>(event_.function)).kind;
  if (own == Kind::pinned || own == Kind::registered) return kind == own;
  return kind != Kind::pinned && kind != Kind::registered;
}

// A call that is wrong about the address or its kind fails in the driver and changes nothing.
Outcome Call::forget(Address address) noexcept {
  event_.address = address;
  const Found found = profiler_->allocator().find(address);
  if (!found.direct || found.segment != address || !ends(found.where.kind)) {
    return {.status = {Result::invalid, 0}};
  }
  const Outcome outcome = profiler_->allocator().forget(address);
  if (outcome.status.ok()) {
    event_.bytes = outcome.requested;
    event_.tag = outcome.tag;
    event_.place = outcome.where;
  }
  return outcome;
}

void Call::take_back(const Outcome& forgotten) noexcept {
  if (!forgotten.status.ok()) return;
  (void)profiler_->allocator().adopt(forgotten.where, forgotten.address, forgotten.requested,
                                     forgotten.tag);
}

CUresult Call::finish(CUresult code) noexcept {
  if (profiler_ == nullptr) return code;
  event_.failed = code != CUDA_SUCCESS;
  event_.total_ns = elapsed_ns(event_.start_ns);
  profiler_->recorder().record(event_);
  return code;
}

}  // namespace vramscope
