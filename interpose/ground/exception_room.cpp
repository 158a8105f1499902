// Room for exceptions where there is no memory. libstdc++ has some of its own, but only from its
// static initialisers on, which run after the library's first code, and only if it got that memory
// then: without it the throw of a bad_alloc ends the process.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace vramscope {
namespace {

// What libstdc++ keeps before an exception (__cxa_refcounted_exception of its unwind-cxx.h, 128
// bytes on x86-64 since GCC 4.7), and how large ours are at most: a few words.
constexpr std::size_t kHeadBytes = 128;
constexpr std::size_t kRoomBytes = 512;
constexpr std::size_t kRooms = 32;  // thrown and not yet caught at once, by all threads

struct alignas(16) Room {
  std::array<std::byte, kRoomBytes> bytes;
};
constinit std::array<Room, kRooms> rooms{};
constinit std::array<std::atomic<bool>, kRooms> taken{};

void* take_room(std::size_t bytes) noexcept {
  if (bytes > kRoomBytes) return nullptr;
  for (std::size_t i = 0; i < kRooms; ++i) {
    if (!taken[i].exchange(true, std::memory_order_acquire)) return rooms[i].bytes.data();
  }
  return nullptr;
}

bool give_room_back(const void* memory) noexcept {
  for (std::size_t i = 0; i < kRooms; ++i) {
    if (memory != rooms[i].bytes.data()) continue;
    taken[i].store(false, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace
}  // namespace vramscope

// The linker puts these in place of libstdc++'s own (--wrap), which is linked statically: for the
// exceptions of this library alone.
extern "C" void* __wrap___cxa_allocate_exception(std::size_t bytes) noexcept {
  using namespace vramscope;
  void* memory = std::malloc(bytes + kHeadBytes);
  if (memory == nullptr) memory = take_room(bytes + kHeadBytes);
  if (memory == nullptr) std::terminate();
  std::memset(memory, 0, kHeadBytes);
  return static_cast<std::byte*>(memory) + kHeadBytes;
}

extern "C" void __wrap___cxa_free_exception(void* exception) noexcept {
  void* const memory = static_cast<std::byte*>(exception) - vramscope::kHeadBytes;
  if (!vramscope::give_room_back(memory)) std::free(memory);
}
