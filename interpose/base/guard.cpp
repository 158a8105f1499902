// SPDX-License-Identifier: Apache-2.0
#include "interpose/base/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "allocator/base/capability.h"
#include "allocator/base/kept_errno.h"
#include "allocator/base/own_stack.h"

namespace vramscope {

namespace {

// Reads the process's mappings ("begin-end ..." lines) without allocating, since a signal handler
// may call it.
class Mappings {
 public:
  // Whether both addresses are in one mapping. Each stack has its own, because guard pages separate
  // them.
  bool hold_both(std::uintptr_t one, std::uintptr_t other) {
    const int file = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool together = false;
    std::array<char, 1024> part{};  // the stack may be small
    for (ssize_t got; !together && (got = ::read(file, part.data(), part.size())) > 0;) {
      for (ssize_t i = 0; i < got && !together; ++i) {
        together = take(part[static_cast<std::size_t>(i)]) && has(one) && has(other);
      }
    }
    close(file);
    return together;
  }

 private:
  enum class Reads : std::uint8_t { begin, end, rest };

  [[nodiscard]] bool has(std::uintptr_t address) const {
    return begin_ <= address && address < end_;
  }

  // Returns true when both numbers of a mapping are known.
  bool take(char c) {
    if (c == '\n') {
      reads_ = Reads::begin;
      begin_ = end_ = 0;
      return false;
    }
    if (reads_ == Reads::rest) return false;
    std::uintptr_t& number = reads_ == Reads::begin ? begin_ : end_;
    if (c >= '0' && c <= '9') {
      number = number * 16 + static_cast<std::uintptr_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      number = number * 16 + static_cast<std::uintptr_t>(c - 'a') + 10;
    } else {
      reads_ = c == '-' ? Reads::end : Reads::rest;
    }
    return reads_ == Reads::rest;
  }

  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;
  Reads reads_ = Reads::begin;
};

bool on_signal_stack() {
  stack_t stack{};
  return sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

constinit std::atomic<const GuardCallbacks*> registered{nullptr};

bool allocator_is_open() {
  const GuardCallbacks* const callbacks = registered.load(std::memory_order_acquire);
  return callbacks == nullptr || callbacks->allocator_is_open();
}

constinit thread_local bool holds_allocator = false;  // abandoned: nothing will unlock it

}  // namespace

bool was_abandoned(const void* entering) noexcept {
  if (own_stack::holds(entering)) return false;  // code there belongs to the marked call
  const KeptErrno kept;
  const Uncancelled uncancelled;
  const std::uintptr_t mark = guard_mark;
  if (system_locks_held != 0 || holds_allocator || on_signal_stack()) return false;
  if (!Mappings().hold_both(mark, stack_address(entering))) return false;
  holds_allocator = !allocator_is_open();
  if (holds_allocator) return false;
  own_stack::abandon();
  guard_mark = 0;
  return true;
}

void set_guard_callbacks(const GuardCallbacks& callbacks) noexcept {
  registered.store(&callbacks, std::memory_order_release);
}

CallGuard::CallGuard(Ends ends) noexcept
    : outermost_(!is_guarded(this)), ends_(ends), errno_(errno) {
  if (outermost_) guard_mark = stack_address(this);
}

CallGuard::~CallGuard() noexcept(false) {
  if (!outermost_) return;
  if (const GuardCallbacks* const callbacks = registered.load(std::memory_order_acquire)) {
    callbacks->complete_deferred_frees(ends_ == Ends::as_a_free);
  }
  guard_mark = 0;
  errno = errno_;
  if (leaving::is_on()) leaving::go_on();
}

}  // namespace vramscope
