// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fork_locks.h"

#include <ctime>
#include <mutex>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"

namespace vramscope {
namespace {

constinit std::mutex list_lock;
constinit ForkLock* first = nullptr;
constinit bool is_list_held = false;

// Our sections are short, but the machine may be busy.
constexpr int kTries = 5000;     // a second in all
constexpr int kLateTries = 100;  // 20 ms
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000};

}  // namespace

ForkLock::ForkLock(const Ways& ways, void* lock) noexcept : ways_(ways), lock_(lock) {
  const std::scoped_lock lock_list(list_lock);
  next_ = first;
  if (first != nullptr) first->before_ = this;
  first = this;
}

ForkLock::~ForkLock() {
  const std::scoped_lock lock_list(list_lock);
  if (next_ != nullptr) next_->before_ = before_;
  (before_ != nullptr ? before_->next_ : first) = next_;
}

bool ForkLock::hold_free(bool late) noexcept {
  bool all = true;
  for (ForkLock* one = first; one != nullptr; one = one->next_) {
    one->is_held_ = one->ways_.try_lock(one->lock_);
    if (one->is_held_) continue;
    const Owner owner = one->ways_.owner(one->lock_);
    if (owner == Owner::other || (owner == Owner::maybe_self && !late)) all = false;
  }
  return all;
}

void ForkLock::release() noexcept {
  for (ForkLock* one = first; one != nullptr; one = one->next_) {
    if (one->is_held_) one->ways_.unlock(one->lock_);
    one->is_held_ = false;
  }
}

// A thread that holds one of the locks may wait for another. So each try takes all of them or none.
void ForkLock::hold_all() noexcept {
  const KeptErrno kept;
  for (int i = 0; i < kTries; ++i) {
    if (!is_list_held) is_list_held = list_lock.try_lock();
    if (is_list_held) {
      if (hold_free(i >= kLateTries)) return;
      if (i + 1 == kTries) return;
      release();
    }
    nap(kPause);
  }
}

void ForkLock::release_all() noexcept {
  if (!is_list_held) return;
  release();
  is_list_held = false;
  list_lock.unlock();
}

}  // namespace vramscope
