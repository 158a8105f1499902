// Verbs of pinned and registered host memory.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

constexpr std::size_t kArena = std::size_t{1} << 20;

// Pages of the program's own, to be registered in parts.
char* arena() {
  static char* const pages = static_cast<char*>(
      mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  return pages;
}

// pin h1 BYTES FLAGS|old
void pin(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  void* address = nullptr;
  const std::uint64_t bytes = turn.number(1);
  const CUresult code = at_site(turn.site(0), [&] {
    if (turn.word(2) == "old") return CU(cuMemAllocHost_v2, turn.way(), &address, bytes);
    return CU(cuMemHostAlloc, turn.way(), &address, bytes, static_cast<unsigned>(turn.number(2)));
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  if (address == nullptr) return turn.say("null");
  began(turn, memory, MemoryKind::pinned, reinterpret_cast<std::uint64_t>(address), bytes);
}

// unpin h1 [OFFSET]
void unpin(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!may_free(turn, memory)) return;
  const std::uint64_t offset = turn.has(1) ? turn.number(1) : 0;
  const Memory* const there = turn.world.at(memory.address + offset);
  if (there != nullptr && there != &memory && !turn.world.together) {
    return turn.say("stale: the address came back");
  }
  if (!settle_for_free(turn.world, memory)) return turn.skip("busy");
  const CUresult code =
      CU(cuMemFreeHost, turn.way(), reinterpret_cast<void*>(memory.address + offset));
  turn.code(code);
  if (code == CUDA_SUCCESS && memory.address + offset != 0) turn.world.end(memory);
}

// register h1 OFFSET BYTES FLAGS [old]
void register_memory(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  const std::uint64_t offset = turn.number(1);
  const std::uint64_t bytes = turn.number(2);
  if (offset + bytes > kArena) return turn.skip("beyond the pages");
  char* const address = arena() + offset;
  const auto flags = static_cast<unsigned>(turn.number(3));
  const CUresult code = at_site(turn.site(0), [&] {
    if (turn.has(4)) return CU(cuMemHostRegister, turn.way(), address, bytes, flags);
    return CU(cuMemHostRegister_v2, turn.way(), address, bytes, flags);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  began(turn, memory, MemoryKind::registered, reinterpret_cast<std::uint64_t>(address), bytes);
}

// unregister h1 [OFFSET]
void unregister(Turn& turn) {
  Memory& memory = turn.memory(0);
  const std::uint64_t address = memory.address + (turn.has(1) ? turn.number(1) : 0);
  if (turn.world.is_capturing_strictly()) return turn.skip("a free during a capture");
  if (!memory.live && turn.world.at(address) != nullptr)
    return turn.say("stale: the address came back");
  const CUresult code = CU(cuMemHostUnregister, turn.way(), reinterpret_cast<void*>(address));
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.world.end(memory);
}

std::uint64_t address_in(const Turn& turn, const Memory& memory) {
  if (turn.word(1) == "end") return memory.address + memory.bytes;
  return memory.address + turn.number(1);
}

constexpr std::uint64_t kPinnedChunk = std::uint64_t{2} << 20;

// flags h1 OFFSET|end
// Whether a small block is told to be portable depends on which chunk the driver cut it from, so on
// what else lies there: not compared.
void flags(Turn& turn) {
  const Memory& memory = turn.memory(0);
  const std::uint64_t address = address_in(turn, memory);
  if (memory.address == 0) return turn.skip("no address yet");
  const Memory* const there = turn.world.at(address);
  if (there != nullptr && there != &memory) return turn.say("stale: the address came back");
  unsigned value = 0;
  const CUresult code = CU(cuMemHostGetFlags, turn.way(), &value, reinterpret_cast<void*>(address));
  turn.code(code);
  if (memory.bytes < kPinnedChunk) value &= ~unsigned{CU_MEMHOSTALLOC_PORTABLE};
  if (code == CUDA_SUCCESS) turn.say("flags", value);
}

// device_pointer h1 OFFSET|end
void device_pointer(Turn& turn) {
  const Memory& memory = turn.memory(0);
  const std::uint64_t address = address_in(turn, memory);
  if (memory.address == 0) return turn.skip("no address yet");
  const Memory* const there = turn.world.at(address);
  if (there != nullptr && there != &memory) return turn.say("stale: the address came back");
  CUdeviceptr device = 0;
  const CUresult code =
      CU(cuMemHostGetDevicePointer_v2, turn.way(), &device, reinterpret_cast<void*>(address), 0U);
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.say(turn.world.relation(device));
}

}  // namespace

void add_host_verbs(Verbs& verbs) {
  verbs["pin"] = pin;
  verbs["unpin"] = unpin;
  verbs["register"] = register_memory;
  verbs["unregister"] = unregister;
  verbs["flags"] = flags;
  verbs["device_pointer"] = device_pointer;
}

}  // namespace vramscope::differential
