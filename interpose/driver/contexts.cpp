// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/contexts.h"

#include <algorithm>
#include <new>

#include "allocator/ground/fault.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

// The calling thread's last answer: valid while no context has ended since.
struct Remembered {
  CUcontext context = nullptr;
  std::uint32_t changes = 0;
  Place place;
};
constinit thread_local Remembered remembered;

}  // namespace

Contexts::Current Contexts::current() noexcept {
  CUcontext context = nullptr;
  if (const CUresult code = real().cuCtxGetCurrent(&context); code != CUDA_SUCCESS) {
    return {.code = code, .place = {}};
  }
  if (context == nullptr) return {.code = CUDA_ERROR_INVALID_CONTEXT, .place = {}};
  const std::uint32_t changes = changes_.load(std::memory_order_acquire);
  const bool is_same = remembered.context == context || fault(Fault::stale_place);
  if (is_same && remembered.changes == changes) {
    return {.code = CUDA_SUCCESS, .place = remembered.place};
  }
  CUdevice device = 0;
  if (const CUresult code = real().cuCtxGetDevice(&device); code != CUDA_SUCCESS) {
    return {.code = code, .place = {}};
  }
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) {
    return {.code = CUDA_ERROR_INVALID_DEVICE, .place = {}};
  }
  const std::uint32_t index = find_or_add(memory_owner(context), device);
  if (index == kMaxContexts) return {.code = CUDA_ERROR_UNKNOWN, .place = {}};
  const Place place{Kind::device, static_cast<std::uint16_t>(device), index};
  remembered = {context, changes, place};
  const std::uint64_t bit = bit_of(device);
  const bool first = (devices_seen_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  return {.code = CUDA_SUCCESS, .place = place, .first_of_device = first};
}

void Contexts::attached(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  try {
    attachments_.push_back(context);
  } catch (const std::bad_alloc&) {
    // Its memory is then forgotten one detach early.
  }
}

bool Contexts::is_attached(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  return std::find(attachments_.begin(), attachments_.end(), context) != attachments_.end();
}

bool Contexts::detached(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  const auto it = std::find(attachments_.begin(), attachments_.end(), context);
  if (it == attachments_.end()) return false;
  attachments_.erase(it);
  return true;
}

void Contexts::forget_attachments(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  std::erase(attachments_, context);
}

void Contexts::add_view(const void* green, CUcontext view, CUcontext primary) noexcept {
  const SystemLock lock(mutex_);
  std::erase_if(views_, [&](const View& old) { return old.view == view; });
  try {
    views_.push_back({green, view, primary});
  } catch (const std::bad_alloc&) {
    // Its memory then has a place of its own.
  }
  changes_.fetch_add(1, std::memory_order_release);
}

void Contexts::remove_views(const void* green) noexcept {
  const SystemLock lock(mutex_);
  std::erase_if(views_, [&](const View& old) { return old.green == green; });
  changes_.fetch_add(1, std::memory_order_release);
}

CUcontext Contexts::memory_owner(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  for (const View& view : views_) {
    if (view.view == context) return view.primary;
  }
  return context;
}

// A context that has ended may still be current: the driver refuses to be called in it.
CUresult Contexts::check_current() noexcept {
  CUcontext context = nullptr;
  if (const CUresult code = real().cuCtxGetCurrent(&context); code != CUDA_SUCCESS) return code;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::uint32_t changes = changes_.load(std::memory_order_acquire);
  if (remembered.context == context && remembered.changes == changes) return CUDA_SUCCESS;
  CUdevice device = 0;
  return real().cuCtxGetDevice(&device);
}

Contexts::Generation Contexts::find_generation(CUcontext context) const noexcept {
  for (Generation i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    if (entries_[i].context.load(std::memory_order_relaxed) == context) return i;
  }
  return unseen;
}

std::uint32_t Contexts::find_or_add(CUcontext context, CUdevice device) noexcept {
  const SystemLock lock(mutex_);
  if (const Generation known = find_generation(context); known != unseen) return known;
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  // A new entry goes to the end, or over an ended one.
  const Generation at = count < kMaxContexts ? count : find_generation(nullptr);
  if (at == unseen) return kMaxContexts;
  entries_[at].device = static_cast<std::uint16_t>(device);
  entries_[at].reached.store(bit_of(device), std::memory_order_relaxed);
  entries_[at].context.store(context, std::memory_order_release);
  if (at == count) count_.store(count + 1, std::memory_order_release);
  return at;
}

Contexts::Generation Contexts::generation_of(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  return context == nullptr ? unseen : find_generation(context);
}

// An earlier generation of the handle has ended, though the thread that ended it may not have said
// so yet.
void Contexts::created(CUcontext context, CUdevice device) noexcept {
  {
    const SystemLock lock(mutex_);
    if (const Generation before = find_generation(context); before != unseen) {
      entries_[before].context.store(nullptr, std::memory_order_release);
      changes_.fetch_add(1, std::memory_order_release);
    }
  }
  retained(context, device);
}

void Contexts::retained(CUcontext context, CUdevice device) noexcept {
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return;
  static_cast<void>(find_or_add(context, device));
}

void Contexts::enabled_peer(CUcontext peer) noexcept {
  const Current accessing = current();
  const ContextScope scope(peer);
  CUdevice device = 0;
  const bool is_known = accessing.code == CUDA_SUCCESS && scope.code() == CUDA_SUCCESS &&
                        real().cuCtxGetDevice(&device) == CUDA_SUCCESS;
  if (!is_known || device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return;
  entries_[accessing.place.context].reached.fetch_or(bit_of(device), std::memory_order_release);
}

bool Contexts::alone_reaches(CUcontext context, Place place) const noexcept {
  bool alone = true;
  each_reaching(place, [&](CUcontext one, Generation) { alone &= one == context; });
  return alone;
}

std::uint64_t Contexts::devices_reaching(std::uint16_t device) const noexcept {
  std::uint64_t devices = 0;
  each_reaching({.kind = Kind::device, .device = device},
                [&](CUcontext, Generation one) { devices |= bit_of(entries_[one].device); });
  return devices;
}

bool Contexts::find(CUcontext context, Place& place) noexcept {
  const SystemLock lock(mutex_);
  const Generation generation = find_generation(context);
  if (generation == unseen) return false;
  place = {.kind = Kind::device, .device = entries_[generation].device, .context = generation};
  return true;
}

Contexts::Use::Use(Contexts& contexts, Generation generation) noexcept
    : contexts_(contexts), generation_(generation) {
  Entry& entry = contexts_.entries_[generation_];
  for (;;) {
    const std::uint32_t turn = contexts_.turns_.value();
    if (entry.held.load(std::memory_order_acquire) >= kOneEnding &&
        !fault(Fault::ended_context_used)) {
      contexts_.turns_.wait_beyond(turn);
      continue;
    }
    const std::uint32_t held = entry.held.fetch_add(1, std::memory_order_acq_rel);
    if (held < kOneEnding || fault(Fault::ended_context_used)) break;
    entry.held.fetch_sub(1, std::memory_order_acq_rel);
    contexts_.turns_.raise();  // whoever ends the context may have seen us and waits
  }
  context_ = entry.context.load(std::memory_order_acquire);
}

Contexts::Use::~Use() {
  const std::uint32_t before =
      contexts_.entries_[generation_].held.fetch_sub(1, std::memory_order_acq_rel);
  if (before >= kOneEnding) contexts_.turns_.raise();
}

Contexts::Ending::Ending(Contexts& contexts, Generation generation, Uses uses) noexcept
    : contexts_(contexts), generation_(generation) {
  if (generation_ == unseen) return;
  Entry& entry = contexts_.entries_[generation_];
  entry.held.fetch_add(kOneEnding, std::memory_order_acq_rel);
  if (uses == Uses::go_on || fault(Fault::ended_context_used)) return;
  for (;;) {
    const std::uint32_t turn = contexts_.turns_.value();
    if (entry.held.load(std::memory_order_acquire) % kOneEnding == 0) return;
    contexts_.turns_.wait_beyond(turn);
  }
}

Contexts::Ending::~Ending() {
  if (generation_ == unseen) return;
  contexts_.entries_[generation_].held.fetch_sub(kOneEnding, std::memory_order_acq_rel);
  contexts_.turns_.raise();
}

CUcontext Contexts::handle(Place place) const noexcept {
  return entries_[context_of(place)].context.load(std::memory_order_acquire);
}

ContextScope::ContextScope(CUcontext context, Caller caller) noexcept {
  CUcontext current = nullptr;
  code_ = real().cuCtxGetCurrent(&current);
  if (code_ != CUDA_SUCCESS || current == context) return;
  if (caller == Caller::in_a_context) {
    CUdevice device = 0;  // of no use: the question tells whether the current context has ended
    code_ = current == nullptr ? CUDA_ERROR_INVALID_CONTEXT : real().cuCtxGetDevice(&device);
    if (code_ != CUDA_SUCCESS) return;
  }
  code_ = real().cuCtxPushCurrent_v2(context);
  pushed_ = code_ == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  CUcontext ours = nullptr;
  if (pushed_) real().cuCtxPopCurrent_v2(&ours);
}

}  // namespace vramscope
