// Verbs that allocate and free device memory, rightly and wrongly.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// alloc a3 BYTES
void alloc(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  CUdeviceptr address = 0x5a;
  const std::uint64_t bytes = turn.number(1);
  const CUresult code =
      allocate_at(turn, [&] { return CU(cuMemAlloc_v2, turn.way(), &address, bytes); });
  turn.code(code);
  if (code == CUDA_SUCCESS) return began(turn, memory, MemoryKind::device, address, bytes);
  if (address != 0x5a) turn.say("address set");
}

// pitch a3 WIDTH HEIGHT ELEMENT
void pitch(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  CUdeviceptr address = 0;
  std::size_t row = 0;
  const CUresult code = allocate_at(turn, [&] {
    return CU(cuMemAllocPitch_v2, turn.way(), &address, &row, turn.number(1), turn.number(2),
              static_cast<unsigned>(turn.number(3)));
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.say("pitch", row);
  began(turn, memory, MemoryKind::device, address, row * turn.number(2));
}

// managed a3 BYTES FLAGS
void managed(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  CUdeviceptr address = 0;
  const auto flags = static_cast<unsigned>(turn.number(2));
  const CUresult code = allocate_at(
      turn, [&] { return CU(cuMemAllocManaged, turn.way(), &address, turn.number(1), flags); });
  turn.code(code);
  if (code == CUDA_SUCCESS) began(turn, memory, MemoryKind::managed, address, turn.number(1));
}

// free a3
void free(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!may_free(turn, memory)) return;
  if (memory.kind == MemoryKind::array) return turn.skip("array");
  // As the programming guide has it: such a free does not wait for the work before it.
  const bool waits = memory.kind != MemoryKind::stream_ordered && memory.node == kNone;
  const bool may =
      waits ? settle_for_free(turn.world, memory) : settle(turn.world, memory, nullptr);
  if (!may) return turn.skip("busy");
  const CUresult code = CU(cuMemFree_v2, turn.way(), memory.address);
  turn.code(code);
  if (code == CUDA_SUCCESS && memory.address != 0) turn.world.end(memory);
}

// free_at a3 OFFSET: not the start of anything
void free_at(Turn& turn) {
  const Memory& memory = turn.memory(0);
  if (!may_free(turn, memory)) return;
  const std::uint64_t address = memory.address + turn.number(1);
  const Memory* const there = turn.world.at(address);
  if (there != nullptr && there->address == address)
    return turn.say("stale: the address came back");
  if (memory.address == 0) return turn.skip("no address yet");
  turn.code(CU(cuMemFree_v2, turn.way(), address));
}

// free_foreign null|stack|heap|code|high|one
void free_foreign(Turn& turn) {
  if (turn.world.is_capturing_strictly()) return turn.skip("a free during a capture");
  static const std::vector<char> heap(1 << 12);
  const char stack = 0;
  const std::map<std::string, std::uint64_t> addresses = {
      {"null", 0},
      {"stack", reinterpret_cast<std::uint64_t>(&stack)},
      {"heap", reinterpret_cast<std::uint64_t>(heap.data())},
      {"code", reinterpret_cast<std::uint64_t>(&cuMemFree_v2)},
      {"high", 0xfffffffffffff000},
      {"one", 1}};
  const std::uint64_t address = addresses.at(turn.word(0));
  turn.code(CU(cuMemFree_v2, turn.way(), address));
  turn.code(CU(cuMemFreeHost, turn.way(), reinterpret_cast<void*>(address)));
}

// array y1 WIDTH HEIGHT
void array(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  CUDA_ARRAY_DESCRIPTOR form{};
  form.Width = turn.number(1);
  form.Height = turn.number(2);
  form.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  form.NumChannels = 4;
  CUarray handle = nullptr;
  const CUresult code =
      allocate_at(turn, [&] { return CU(cuArrayCreate_v2, turn.way(), &handle, &form); });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  const std::uint64_t rows = form.Height == 0 ? 1 : form.Height;
  began(turn, memory, MemoryKind::array, 0, form.Width * rows * 4);
  memory.handle = reinterpret_cast<std::uint64_t>(handle);
}

// array_end y1
void array_end(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  if (turn.world.is_capturing_strictly()) return turn.skip("a free during a capture");
  const CUresult code = CU(cuArrayDestroy, turn.way(), reinterpret_cast<CUarray>(memory.handle));
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.world.end(memory);
}

}  // namespace

void add_memory_verbs(Verbs& verbs) {
  verbs["alloc"] = alloc;
  verbs["pitch"] = pitch;
  verbs["managed"] = managed;
  verbs["free"] = free;
  verbs["free_at"] = free_at;
  verbs["free_foreign"] = free_foreign;
  verbs["array"] = array;
  verbs["array_end"] = array_end;
}

}  // namespace vramscope::differential
