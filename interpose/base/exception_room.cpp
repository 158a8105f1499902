// Static memory for exceptions, for when memory is exhausted. libstdc++ has an emergency pool, but
// only after its static initialisers, which run after the library's first code, and only if they
// got memory. Without a pool the throw of a bad_alloc ends the process.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace vramscope {
namespace {

// The size of libstdc++'s header before an exception (__cxa_refcounted_exception of its
// unwind-cxx.h, 128 bytes on x86-64 since GCC 4.7), and the largest of our exceptions: a few words.
constexpr std::size_t kHeadBytes = 128;
constexpr std::size_t kRoomBytes = 512;
constexpr std::size_t kRooms = 32;  // exceptions in flight at one time, of all threads

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

// The linker replaces libstdc++'s functions by these (--wrap). libstdc++ is linked statically, so
// they serve only this library's exceptions.
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
