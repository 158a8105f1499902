// Rooms, and who has which.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/thread_room.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "allocator/ground/kept_errno.h"
#include "allocator/ground/machine.h"
#include "allocator/ground/on_valgrind.h"

namespace vramscope::thread_room {

constinit thread_local Parts* known = nullptr;

namespace {

// While the thread looks for a room, so that a signal handler of its own does not take another.
constinit thread_local volatile bool taking = false;

// Its owner: the number of a thread in the lower half; above it how often it changed hands.
using Owner = std::uint64_t;

struct Room {
  Parts parts;  // at the end of the stack
  std::atomic<Owner> owner;
  pid_t process;  // a forked child has the rooms of its parent's threads, and leaves them alone
  Room* older;
};

constinit std::atomic<Room*> newest{nullptr};     // and by `older` all others; none ever leaves
constinit std::atomic<Room*> looked_at{nullptr};  // where the last search ended

constexpr Owner owned_by(Owner before, pid_t thread) {
  return ((before >> 32) + 1) << 32 | static_cast<std::uint32_t>(thread);
}
constexpr pid_t thread_of(Owner owner) { return static_cast<pid_t>(owner & 0xffffffffU); }

// Whoever has no room is not the one that this thread's number is written in: that one has ended.
bool has_ended(pid_t process, pid_t thread, pid_t self) {
  constexpr int kNoSignal = 0;
  return thread == self || (syscall(SYS_tgkill, process, thread, kNoSignal) != 0 && errno == ESRCH);
}

bool take_over(Room& room, pid_t process, pid_t self) {
  Owner owner = room.owner.load(std::memory_order_acquire);
  if (room.process != process || !has_ended(process, thread_of(owner), self)) return false;
  return room.owner.compare_exchange_strong(owner, owned_by(owner, self),
                                            std::memory_order_acq_rel);
}

// Each search goes on where the last one ended, and asks the system about a few threads only: with
// as many live threads as there may be, a new one pays the same.
Room* find_left(pid_t process, pid_t self) {
  constexpr int kLooked = 16;
  Room* room = looked_at.load(std::memory_order_acquire);
  for (int i = 0; i < kLooked; ++i) {
    room = room != nullptr ? room->older : newest.load(std::memory_order_acquire);
    if (room == nullptr) continue;  // from the newest on again
    if (!take_over(*room, process, self)) continue;
    looked_at.store(room, std::memory_order_release);
    std::memset(&room->parts, 0, sizeof room->parts);
    return room;
  }
  looked_at.store(room, std::memory_order_release);
  return nullptr;
}

// A page that faults, the stack, the room.
Room* map_room() {
  constexpr std::size_t kBytes = kWholePage + kStackBytes + sizeof(Room);
  void* const pages = mmap(nullptr, kBytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* const stack = static_cast<std::byte*>(pages) + kWholePage;
  if (mprotect(stack, kBytes - kWholePage, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages, kBytes);
    return nullptr;
  }
  tell_valgrind_of_stack(stack, stack + kStackBytes - 1);
  return reinterpret_cast<Room*>(stack + kStackBytes);
}

Room* make(pid_t process, pid_t self) {
  Room* const room = map_room();
  if (room == nullptr) return nullptr;
  room->owner.store(owned_by(0, self), std::memory_order_relaxed);
  room->process = process;
  room->older = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(room->older, room, std::memory_order_acq_rel)) {
  }
  return room;
}

}  // namespace

Parts* take() noexcept {
  if (taking) return nullptr;
  const KeptErrno kept;
  taking = true;
  const pid_t process = getpid();
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  Room* const left = find_left(process, self);
  Room* const room = left != nullptr ? left : make(process, self);
  if (room != nullptr) known = &room->parts;
  taking = false;
  return known;
}

}  // namespace vramscope::thread_room
