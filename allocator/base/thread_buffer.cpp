// Makes thread buffers and assigns them to threads.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/thread_buffer.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"

namespace vramscope::thread_buffer {

constinit thread_local Parts* known = nullptr;

namespace {

// True while the thread looks for a buffer, so that its signal handler does not take another.
constinit thread_local volatile bool taking = false;

// The owner of a buffer: the number of its thread in the lower half, and in the upper half how
// often the owner changed.
using Owner = std::uint64_t;

struct Room {
  std::atomic<Owner> owner;
  pid_t process;  // a forked child does not use the buffers of its parent's threads
  Room* older;
  Parts* parts;  // pages that go back when the thread ends
};

// Records of buffers, side by side. They are never freed.
struct Rooms {
  static constexpr std::size_t kCount = (kWholePage - sizeof(std::size_t)) / sizeof(Room);
  std::atomic<std::size_t> used;
  std::array<Room, kCount> rooms;
};
static_assert(sizeof(Rooms) <= kWholePage);

constinit std::atomic<Rooms*> last_rooms{nullptr};  // in which some may be free

constinit std::atomic<Room*> newest{nullptr};  // links all others by `older`; none is ever removed
constinit std::atomic<Room*> looked_at{nullptr};  // where the last search ended

constexpr Owner owned_by(Owner before, pid_t thread) {
  return ((before >> 32) + 1) << 32 | static_cast<std::uint32_t>(thread);
}
constexpr pid_t thread_of(Owner owner) { return static_cast<pid_t>(owner & 0xffffffffU); }

// A thread without a buffer whose number stands in a record is not that owner: the earlier thread
// with its number has ended.
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

constexpr std::size_t kPartsBytes = (sizeof(Parts) + kWholePage - 1) / kWholePage * kWholePage;

void* map(std::size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

// Gives the pages back to the system, which puts zeroed ones in their place.
void clear(Parts& parts) {
  if (madvise(&parts, kPartsBytes, MADV_DONTNEED) != 0) std::memset(&parts, 0, sizeof parts);
}

// Each search continues where the last one ended, and asks the system about a few threads only. So
// its cost does not grow with the number of live threads.
Room* find_left(pid_t process, pid_t self) {
  constexpr int kLooked = 16;
  Room* room = looked_at.load(std::memory_order_acquire);
  for (int i = 0; i < kLooked; ++i) {
    room = room != nullptr ? room->older : newest.load(std::memory_order_acquire);
    if (room == nullptr) continue;  // begin again with the newest
    if (!take_over(*room, process, self)) continue;
    looked_at.store(room, std::memory_order_release);
    clear(*room->parts);
    return room;
  }
  looked_at.store(room, std::memory_order_release);
  return nullptr;
}

Room* new_room() {
  Rooms* rooms = last_rooms.load(std::memory_order_acquire);
  while (true) {
    const std::size_t place = rooms == nullptr ? Rooms::kCount : rooms->used.fetch_add(1);
    if (place < Rooms::kCount) return &rooms->rooms[place];
    auto* const more = static_cast<Rooms*>(map(kWholePage));
    if (more == nullptr) return nullptr;
    if (last_rooms.compare_exchange_strong(rooms, more, std::memory_order_acq_rel)) {
      rooms = more;
    } else {
      munmap(more, kWholePage);
    }
  }
}

// Adjacent parts could become huge pages, which take more memory.
Room* make(pid_t process, pid_t self) {
  void* const pages = map(kPartsBytes);
  Room* const room = pages == nullptr ? nullptr : new_room();
  if (room == nullptr) {
    if (pages != nullptr) munmap(pages, kPartsBytes);
    return nullptr;
  }
  madvise(pages, kPartsBytes, MADV_NOHUGEPAGE);
  room->parts = static_cast<Parts*>(pages);
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
  if (room != nullptr) known = room->parts;
  taking = false;
  return known;
}

// Meanwhile a signal handler of the thread finds no buffer.
void discard() noexcept {
  const KeptErrno kept;
  Parts* const parts = known;
  if (parts == nullptr) return;
  taking = true;
  known = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  clear(*parts);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  known = parts;
  taking = false;
}

}  // namespace vramscope::thread_buffer
