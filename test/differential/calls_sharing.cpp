// Verbs that give memory to other processes and to hardware.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// Seen by all processes of a sequence: made before they part.
struct Shelf {
  std::atomic<bool> filled;
  std::atomic<std::uint64_t> number;  // of the memories that were here
  std::atomic<std::uint64_t> ended;   // the number of one whose bytes may be somebody else's now
  std::atomic<bool> written[2];       // the spots of the memory, as its owner knows
  CUipcMemHandle handle;
};
constexpr std::size_t kShelves = 8;
Shelf* shelves = nullptr;

// ipc_get k1 a3: each memory has one shelf
void ipc_get(Turn& turn) {
  const int index = static_cast<int>(turn.index(0) % kShelves);
  Shelf& shelf = shelves[index];
  Memory& memory = turn.memory(1);
  if (!memory.live) return turn.skip("not live");
  if (memory.shelf != kNone && memory.shelf != index) return turn.skip("elsewhere");
  if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
  CUipcMemHandle handle{};
  const CUresult code = CU(cuIpcGetMemHandle, turn.way(), &handle, memory.address);
  turn.code(code);
  const bool is_refused = code == CUDA_ERROR_NOT_SUPPORTED;  // with us: a part of a segment
  if (code != CUDA_SUCCESS && !is_refused) return;
  const bool is_new = memory.shelf != index || memory.handle != shelf.number;
  memory.shelf = index;
  if (is_new) memory.handle = ++shelf.number;  // in every run
  if (is_refused) return;
  shelf.handle = handle;
  shelf.filled = true;
  for (std::size_t i = 0; i < memory.written.size(); ++i) shelf.written[i] = memory.written[i];
}

// ipc_open i1 k1 [old]
void ipc_open(Turn& turn) {
  Memory& memory = turn.memory(0);
  const Shelf& shelf = shelves[turn.index(1) % kShelves];
  if (memory.live) return turn.skip("live");
  if (!shelf.filled) return turn.skip("nothing there");
  const std::uint64_t number = shelf.number;
  CUdeviceptr address = 0;
  const unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  const CUresult code = at_site(turn.site(0), [&] {
    if (turn.has(2)) return CU(cuIpcOpenMemHandle, turn.way(), &address, shelf.handle, flags);
    return CU(cuIpcOpenMemHandle_v2, turn.way(), &address, shelf.handle, flags);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  turn.code(CU(cuMemGetAddressRange_v2, turn.way(), &base, &bytes, address));
  turn.say("bytes", bytes);
  turn.say(base == address ? "at its start" : "inside");
  if (turn.world.at(address) != nullptr) {  // counted by the driver: closed as often
    turn.say("again");
    return turn.code(CU(cuIpcCloseMemHandle, turn.way(), address));
  }
  turn.world.begin(memory, MemoryKind::imported, address, bytes, current_device(),
                   turn.world.find_context(current_context()), turn.site(0));
  memory.written = {shelf.written[0], shelf.written[1]};
  memory.shelf = static_cast<int>(turn.index(1) % kShelves);
  memory.handle = number;
}

// ipc_close i1
void ipc_close(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
  const CUresult code = CU(cuIpcCloseMemHandle, turn.way(), memory.address);
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.world.end(memory);
}

// sync_memops a3 0|1
void sync_memops(Turn& turn) {
  const Memory& memory = turn.memory(0);
  if (!memory.live || memory.kind != MemoryKind::device) return turn.skip("not live");
  const int value = static_cast<int>(turn.number(1));
  turn.code(CU(cuPointerSetAttribute, turn.way(), &value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
               memory.address));
}

}  // namespace

bool has_lost_its_bytes(const Memory& memory) {
  if (memory.kind != MemoryKind::imported) return false;
  const Shelf& shelf = shelves[memory.shelf];
  return shelf.number != memory.handle || shelf.ended == memory.handle;
}

// On the simulated device memory that has pages of its own keeps its bytes for whoever opened it.
void note_end_of_shared(const Memory& memory, bool kept_back) {
  constexpr std::uint64_t kMostInSharedPages = std::uint64_t{1} << 20;
  Shelf& shelf = shelves[memory.shelf];
  if (memory.kind != MemoryKind::device || shelf.number != memory.handle) return;
  if (memory.bytes <= kMostInSharedPages) shelf.ended = memory.handle;
  if (kept_back) shelf.filled = false;
}

void make_shelves() {
  void* const pages = mmap(nullptr, kShelves * sizeof(Shelf), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shelves = static_cast<Shelf*>(pages);
}

void add_sharing_verbs(Verbs& verbs) {
  verbs["ipc_get"] = ipc_get;
  verbs["ipc_open"] = ipc_open;
  verbs["ipc_close"] = ipc_close;
  verbs["sync_memops"] = sync_memops;
}

}  // namespace vramscope::differential
