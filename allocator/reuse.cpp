// SPDX-License-Identifier: Apache-2.0
#include "allocator/reuse.h"

#include <new>

namespace vramscope {

// One store each, for readers without the lock.
void Reuse::change(const FastPathPlaces& now) noexcept {
  sole_place_.store(now.frees ? now.frees->place.packed() : kSeveralPlaces,
                    std::memory_order_release);
  sole_pinned_place_.store(now.pinned_frees ? now.pinned_frees->place.packed() : kSeveralPlaces,
                           std::memory_order_release);
  fast_path_ = now;
}

Waits* Reuse::find_pinned_waits(Place where) noexcept {
  for (PinnedWaits& one : pinned_waits_) {
    if (one.where == where) return &one.waits;
  }
  return nullptr;
}

Waits& Reuse::pinned_waits(Place where) noexcept try {
  if (Waits* const known = find_pinned_waits(where)) return *known;
  return pinned_waits_.emplace_back(PinnedWaits{where, {}}).waits;
} catch (const std::bad_alloc&) {
  return unproved_ = {};
}

void Reuse::forget_pinned_waits(Place where) noexcept {
  std::erase_if(pinned_waits_, [where](const PinnedWaits& one) { return one.where == where; });
}

bool Reuse::wait_for(Backend& backend, ReuseTime time, Place where, Outcome& out) noexcept {
  Reply waited;
  if (fault(Fault::reuse_without_waiting)) {
    // The device is not asked.
  } else if (time == ReuseTime::at_free) {
    waited = backend.wait(where);
  } else if (!backend.may_wait(where)) {
    waited.status.result = Result::forbidden;
  }
  if (waited.status.result == Result::forbidden) return false;
  out.wait_ns += waited.ns;
  out.status = waited.status;
  return true;
}

Reply Reuse::ask(Backend& backend, Place where, bool must_wait) noexcept {
  if (!backend.may_wait(where)) return {.status = {Result::forbidden, 0}};
  return must_wait ? backend.wait(where) : backend.probe(where);
}

Reuse::Answer Reuse::take_answer(const Reply& reply, bool must_wait, Outcome& out) noexcept {
  hits_unasked_ = 0;
  if (must_wait) out.wait_ns += reply.ns;
  const bool forbidden = reply.status.result == Result::forbidden;
  if (forbidden && fault(Fault::refused_proof)) return Answer::fine;
  if (forbidden) return must_wait ? Answer::not_now : Answer::fine;
  out.status = reply.status;
  return reply.status.ok() ? Answer::fine : Answer::error;
}

}  // namespace vramscope
