// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/contexts.h"

#include <algorithm>
#include <new>

#include "allocator/base/fault.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

// Returns the device of the current context if it lives. cuCtxGetDevice also answers in an ended
// context; cuCtxGetApiVersion only in a living one (H200, driver 580.159.04).
CUresult device_of_living(CUcontext current, CUdevice& device) noexcept {
  unsigned version = 0;
  const CUresult life = real().cuCtxGetApiVersion(current, &version);
  const bool has_ended =
      life == CUDA_ERROR_INVALID_CONTEXT || life == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return has_ended ? CUDA_ERROR_CONTEXT_IS_DESTROYED : real().cuCtxGetDevice(&device);
}

}  // namespace

constinit thread_local Contexts::Remembered Contexts::remembered_;

Contexts::Current Contexts::look_at(CUcontext context, std::uint32_t changes) noexcept {
  if (context == nullptr) return {.code = CUDA_ERROR_INVALID_CONTEXT, .place = {}};
  CUdevice device = 0;
  if (const CUresult code = device_of_living(context, device); code != CUDA_SUCCESS) {
    return {.code = code, .place = {}};
  }
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) {
    return {.code = CUDA_ERROR_INVALID_DEVICE, .place = {}};
  }
  const Generation index = see(context, device);
  if (index == unseen) return {.code = CUDA_ERROR_CONTEXT_IS_DESTROYED, .place = {}};
  if (index == kMaxContexts) return {.code = CUDA_ERROR_UNKNOWN, .place = {}};
  const Place place{Kind::device, static_cast<std::uint16_t>(device), index};
  remembered_ = {context, changes, place};
  const std::uint64_t bit = bit_of(device);
  const bool first = (devices_seen_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  return {.code = CUDA_SUCCESS, .place = place, .first_of_device = first};
}

void Contexts::attached(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  mark_living(context);
  try {
    attachments_.push_back(context);
  } catch (const std::bad_alloc&) {
    // Without memory: the context's memory is forgotten one detach early.
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
  mark_living(view);
  std::erase_if(views_, [&](const View& old) { return old.view == view; });
  try {
    views_.push_back({green, view, primary});
  } catch (const std::bad_alloc&) {
    // Without memory: the view's memory has a place of its own.
  }
  changes_.fetch_add(1, std::memory_order_release);
}

std::uint32_t Contexts::view_owner(const void* green) const noexcept {
  const SystemLock lock(mutex_);
  for (const View& view : views_) {
    if (view.green == green) return find_generation(view.primary);
  }
  return unseen;
}

void Contexts::remove_views(const void* green) noexcept {
  const SystemLock lock(mutex_);
  for (const View& view : views_) {
    if (view.green == green) mark_ended(view.view);
  }
  std::erase_if(views_, [&](const View& old) { return old.green == green; });
  changes_.fetch_add(1, std::memory_order_release);
}

CUcontext Contexts::memory_owner(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  return owner_of(context);
}

CUcontext Contexts::owner_of(CUcontext context) const noexcept {
  for (const View& view : views_) {
    if (view.view == context) return view.primary;
  }
  return context;
}

bool Contexts::is_ended(CUcontext context) const noexcept {
  return std::binary_search(ended_.begin(), ended_.end(), context);
}

void Contexts::mark_ended(CUcontext context) noexcept {
  const auto at = std::lower_bound(ended_.begin(), ended_.end(), context);
  if (context == nullptr || (at != ended_.end() && *at == context)) return;
  try {
    ended_.insert(at, context);
    changes_.fetch_add(1, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    // Without memory: the ended context counts as a new one where it is still current.
  }
}

void Contexts::mark_living(CUcontext context) noexcept {
  const auto at = std::lower_bound(ended_.begin(), ended_.end(), context);
  if (at == ended_.end() || *at != context) return;
  ended_.erase(at);
  changes_.fetch_add(1, std::memory_order_release);
}

// An ended context may still be current; the driver refuses calls in it.
CUresult Contexts::check_current() noexcept {
  CUcontext context = nullptr;
  if (const CUresult code = real().cuCtxGetCurrent(&context); code != CUDA_SUCCESS) return code;
  if (context == nullptr) return CUDA_SUCCESS;
  const std::uint32_t changes = changes_.load(std::memory_order_acquire);
  if (remembered_.context == context && remembered_.changes == changes) return CUDA_SUCCESS;
  {
    const SystemLock lock(mutex_);
    if (is_ended(context) || is_ended(owner_of(context))) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  CUdevice device = 0;
  return device_of_living(context, device);
}

Contexts::Generation Contexts::find_generation(CUcontext context) const noexcept {
  for (Generation i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    if (entries_[i].context.load(std::memory_order_relaxed) == context) return i;
  }
  return unseen;
}

Contexts::Generation Contexts::see(CUcontext current, CUdevice device) noexcept {
  const SystemLock lock(mutex_);
  const CUcontext owner = owner_of(current);
  return is_ended(current) || is_ended(owner) ? unseen : find_or_add(owner, device);
}

Contexts::Generation Contexts::find_or_add(CUcontext context, CUdevice device) noexcept {
  if (const Generation known = find_generation(context); known != unseen) return known;
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  // A new entry is appended, or replaces an ended one.
  const Generation at = count < kMaxContexts ? count : find_generation(nullptr);
  if (at == unseen) return kMaxContexts;
  entries_[at].device = static_cast<std::uint16_t>(device);
  entries_[at].reached.store(bit_of(device), std::memory_order_relaxed);
  entries_[at].retains.store(0, std::memory_order_relaxed);
  entries_[at].context.store(context, std::memory_order_release);
  if (at == count) count_.store(count + 1, std::memory_order_release);
  return at;
}

Contexts::Generation Contexts::generation_of(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  return context == nullptr ? unseen : find_generation(context);
}

Contexts::Generation Contexts::begin_end(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  if (context == nullptr) return unseen;
  const Generation found = find_generation(context);
  if (found == unseen) mark_ended(context);
  return found;
}

void Contexts::not_ended(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  mark_living(context);
}

bool Contexts::may_be_last_release(CUcontext primary) const noexcept {
  const SystemLock lock(mutex_);
  const Generation found = primary == nullptr ? unseen : find_generation(primary);
  return found == unseen || entries_[found].retains.load(std::memory_order_relaxed) <= 1;
}

void Contexts::released(CUcontext primary) noexcept {
  const SystemLock lock(mutex_);
  const Generation found = primary == nullptr ? unseen : find_generation(primary);
  if (found == unseen) return;
  std::atomic<std::uint32_t>& retains = entries_[found].retains;
  const std::uint32_t seen = retains.load(std::memory_order_relaxed);
  if (seen != 0) retains.store(seen - 1, std::memory_order_relaxed);
}

// An earlier generation of the handle has ended, although the thread that ended it may not have
// noted that yet.
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
  const SystemLock lock(mutex_);
  mark_living(context);
  const Generation at = find_or_add(context, device);
  if (at != kMaxContexts) entries_[at].retains.fetch_add(1, std::memory_order_relaxed);
}

void Contexts::enabled_peer(CUcontext peer) noexcept {
  const Current accessing = current();
  if (accessing.code != CUDA_SUCCESS) return;
  Place owner;
  const std::uint64_t bits =
      find(memory_owner(peer), owner) ? bit_of(owner.device) : ~std::uint64_t{0};
  entries_[accessing.place.context].reached.fetch_or(bits, std::memory_order_release);
}

bool Contexts::is_alone(Place place) const noexcept {
  bool alone = true;
  each_beside(place, [&](CUcontext, Generation) { alone = false; });
  return alone;
}

std::uint64_t Contexts::devices_reaching(std::uint16_t device) const noexcept {
  std::uint64_t devices = 0;
  for (std::uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
    if (entries_[i].context.load(std::memory_order_acquire) == nullptr) continue;
    const std::uint64_t reached = entries_[i].reached.load(std::memory_order_acquire);
    if ((reached & bit_of(device)) != 0) devices |= bit_of(entries_[i].device);
  }
  return devices;
}

bool Contexts::find(CUcontext context, Place& place) noexcept {
  const SystemLock lock(mutex_);
  const Generation generation = find_generation(context);
  if (generation == unseen) return false;
  place = {.kind = Kind::device, .device = entries_[generation].device, .context = generation};
  return true;
}

Contexts::Use::Use(Contexts& contexts, Generation generation, AtEnd at_end) noexcept
    : contexts_(contexts), generation_(generation), held_(begin(at_end)) {
  if (held_) context_ = contexts_.entries_[generation_].context.load(std::memory_order_acquire);
}

bool Contexts::Use::begin(AtEnd at_end) noexcept {
  if (generation_ == unseen) return false;
  Entry& entry = contexts_.entries_[generation_];
  for (;;) {
    const std::uint32_t turn = contexts_.turns_.value();
    if (entry.held.load(std::memory_order_acquire) >= kOneEnding &&
        !fault(Fault::ended_context_used)) {
      if (at_end == AtEnd::gives_up) return false;
      contexts_.turns_.wait_beyond(turn);
      continue;
    }
    const std::uint32_t held = entry.held.fetch_add(1, std::memory_order_acq_rel);
    if (held < kOneEnding || fault(Fault::ended_context_used)) return true;
    entry.held.fetch_sub(1, std::memory_order_acq_rel);
    contexts_.turns_.raise();  // a thread that ends the context may be waiting for us
  }
}

Contexts::Use::~Use() {
  if (!held_) return;
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

ContextScope::ContextScope(Contexts& contexts, Contexts::Generation generation) noexcept
    : contexts_(contexts) {
  entered_.emplace(contexts, generation);
  code_ =
      entered_->context() == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : enter(entered_->context());
}

ContextScope::ContextScope(Contexts& contexts, CUcontext just_given) noexcept
    : contexts_(contexts), code_(enter(just_given)) {}

// The driver's pop makes the previous context current again, which must not have ended by then. It
// is held as the second use, without waiting for a thread that is ending it, because two threads
// could wait for each other.
CUresult ContextScope::enter(CUcontext context) noexcept {
  CUcontext current = nullptr;
  if (const CUresult code = real().cuCtxGetCurrent(&current); code != CUDA_SUCCESS) return code;
  if (current == context) return CUDA_SUCCESS;
  if (current != nullptr) {
    const Contexts::Current known = contexts_.current();
    if (known.code != CUDA_SUCCESS) return known.code;
    beneath_.emplace(contexts_, known.place.context, Contexts::Use::AtEnd::gives_up);
    if (beneath_->context() == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  const CUresult code = real().cuCtxPushCurrent_v2(context);
  pushed_ = code == CUDA_SUCCESS;
  return code;
}

ContextScope::~ContextScope() {
  CUcontext ours = nullptr;
  if (pushed_) real().cuCtxPopCurrent_v2(&ours);
}

}  // namespace vramscope
