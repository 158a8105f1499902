// Verbs of stream-ordered memory and its pools.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// pool p1 DEVICE: all devices may use its memory
void pool(Turn& turn) {
  Pool& pool = turn.world.pools[turn.index(0)];
  if (pool.alive) return turn.skip("live");
  CUmemPoolProps form{};
  form.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  form.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  form.location.id = static_cast<int>(turn.number(1));
  CUmemoryPool handle = nullptr;
  const CUresult code = CU(cuMemPoolCreate, turn.way(), &handle, &form);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  pool = {.handle = handle, .alive = true, .device = form.location.id};
  int devices = 0;
  CU(cuDeviceGetCount, Way::linked, &devices);
  for (int other = 0; other < devices; ++other) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {other}};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (other == form.location.id) continue;
    turn.code(CU(cuMemPoolSetAccess, turn.way(), handle, &access, std::size_t{1}));
  }
}

// pool_end p1
void pool_end(Turn& turn) {
  Pool& pool = turn.world.pools[turn.index(0)];
  if (!pool.alive) return turn.skip("no pool");
  for (const auto& [name, memory] : turn.world.memories) {
    const bool uses = memory.live && memory.kind == MemoryKind::stream_ordered &&
                      memory.pool == static_cast<int>(turn.index(0));
    if (uses) return turn.skip("in use");
  }
  const CUresult code = CU(cuMemPoolDestroy, turn.way(), pool.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS) pool.alive = false;
}

// pool_trim p1 BYTES
void pool_trim(Turn& turn) {
  const Pool& pool = turn.world.pools[turn.index(0)];
  if (!pool.alive) return turn.skip("no pool");
  turn.code(CU(cuMemPoolTrimTo, turn.way(), pool.handle, turn.number(1)));
}

// alloc_async a1 BYTES s1|- [p1]
void alloc_async(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  World& world = turn.world;
  CUstream handle = nullptr;
  Queue queue{.context = current_context()};
  int device = current_device();
  if (turn.word(2) != "-") {
    const Stream& stream = world.streams[turn.index(2)];
    if (!stream.alive || stream.capturing) return turn.skip("no stream");
    const Context& context = world.contexts[static_cast<std::size_t>(stream.context)];
    queue = {.context = context.handle, .stream = stream.handle};
    handle = stream.handle;
    device = context.device;
  }
  CUmemoryPool pool = nullptr;
  if (turn.has(3)) {
    const Pool& chosen = world.pools[turn.index(3)];
    if (!chosen.alive) return turn.skip("no pool");
    pool = chosen.handle;
    device = chosen.device;
  }
  CUdeviceptr address = 0;
  const CUresult code = allocate_at(turn, [&] {
    if (pool == nullptr) return CU(cuMemAllocAsync, turn.way(), &address, turn.number(1), handle);
    return CU(cuMemAllocFromPoolAsync, turn.way(), &address, turn.number(1), pool, handle);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  world.begin(memory, MemoryKind::stream_ordered, address, turn.number(1), device, kNone,
              turn.site(0));
  memory.pool = turn.has(3) ? static_cast<int>(turn.index(3)) : kNone;
  memory.pending.push_back(queue);
}

// free_async a1 s1|-: memory of pools, and of cuMemAlloc
void free_async(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  if (turn.world.is_capturing()) return turn.skip("a free during a capture");
  const bool fits = memory.kind == MemoryKind::stream_ordered ||
                    memory.kind == MemoryKind::device || memory.node != kNone;
  if (!fits) return turn.skip("another kind");
  // A free that does not wait need not learn of it.
  const bool is_broken = memory.device == turn.world.broken_device;
  if (is_broken && current_device() != memory.device) return turn.skip("its device is broken");
  CUstream handle = nullptr;
  Queue queue{.context = current_context()};
  if (turn.word(1) != "-") {
    const Stream& stream = turn.world.streams[turn.index(1)];
    if (!stream.alive) return turn.skip("no stream");
    handle = stream.handle;
    const auto context = static_cast<std::size_t>(stream.context);
    queue = {.context = turn.world.contexts[context].handle, .stream = handle};
  }
  if (!settle(turn.world, memory, &queue)) return turn.skip("busy");
  const CUresult code = CU(cuMemFreeAsync, turn.way(), memory.address, handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  // It counts until the next wait, and can be opened by others until then.
  if (memory.kind == MemoryKind::device) {
    turn.world.held_bytes += memory.bytes;
    if (memory.shelf != kNone) note_end_of_shared(memory, true);
  }
  if (memory.node != kNone) {
    turn.world.node(memory.node).memory.pending = {queue};
  }
  turn.world.end(memory);
}

}  // namespace

void add_pool_verbs(Verbs& verbs) {
  verbs["pool"] = pool;
  verbs["pool_end"] = pool_end;
  verbs["pool_trim"] = pool_trim;
  verbs["alloc_async"] = alloc_async;
  verbs["free_async"] = free_async;
}

}  // namespace vramscope::differential
