// Verbs of virtual memory: handles, addresses, mappings.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

CUmemAllocationProp form_of(int device) {
  CUmemAllocationProp form{};
  form.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  form.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  form.location.id = device;
  return form;
}

// create m1 BYTES DEVICE
void create(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  const CUmemAllocationProp form = form_of(static_cast<int>(turn.number(2)));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult code = allocate_at(
      turn, [&] { return CU(cuMemCreate, turn.way(), &handle, turn.number(1), &form, 0ULL); });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.world.begin(memory, MemoryKind::physical, 0, turn.number(1), form.location.id, kNone,
                   turn.site(0));
  memory.handle = handle;
  memory.references = 1;
  memory.accessible = false;  // its bytes are behind mappings
}

bool is_mapped(const World& world, int number) {
  for (const auto& [name, memory] : world.memories) {
    const bool maps = memory.live && memory.kind == MemoryKind::mapping && memory.backing == number;
    if (maps) return true;
  }
  return false;
}

// Physical memory goes with its last reference and its last mapping.
void end_unused(World& world, int number) {
  Memory& memory = world.memory("m" + std::to_string(number));
  if (memory.references == 0 && !is_mapped(world, number)) world.end(memory);
}

// release_handle m1
void release_handle(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live || memory.references == 0) return turn.skip("no handle");
  const CUresult code = CU(cuMemRelease, turn.way(), memory.handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  --memory.references;
  end_unused(turn.world, static_cast<int>(turn.index(0)));
}

// reserve r1 BYTES
void reserve(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (memory.live) return turn.skip("live");
  CUdeviceptr address = 0;
  const CUresult code = allocate_at(turn, [&] {
    return CU(cuMemAddressReserve, turn.way(), &address, turn.number(1), std::size_t{0},
              CUdeviceptr{0}, 0ULL);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.world.begin(memory, MemoryKind::address_range, address, turn.number(1), 0, kNone,
                   turn.site(0));
}

// unreserve r1: while nothing is mapped there
void unreserve(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  for (const auto& [name, other] : turn.world.memories) {
    const bool inside = other.live && other.kind == MemoryKind::mapping &&
                        other.address - memory.address < memory.bytes;
    if (inside) return turn.skip("mapped");
  }
  const CUresult code = CU(cuMemAddressFree, turn.way(), memory.address, memory.bytes);
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.world.end(memory);
}

// map v1 r1 m1: the whole of m1 at the start of r1, readable and writable
void map(Turn& turn) {
  Memory& memory = turn.memory(0);
  Memory& range = turn.memory(1);
  Memory& physical = turn.memory(2);
  const bool has_handle = physical.live && physical.references > 0;
  if (memory.live || !range.live || !has_handle) return turn.skip("nothing to map");
  for (const auto& [name, other] : turn.world.memories) {
    const bool taken = other.live && other.kind == MemoryKind::mapping &&
                       other.address - range.address < range.bytes;
    if (taken) return turn.skip("mapped");
  }
  const CUresult code = allocate_at(turn, [&] {
    return CU(cuMemMap, turn.way(), range.address, physical.bytes, std::size_t{0}, physical.handle,
              0ULL);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.world.begin(memory, MemoryKind::mapping, range.address, physical.bytes, physical.device,
                   kNone, turn.site(0));
  memory.backing = static_cast<int>(turn.index(2));
  for (const auto& [name, other] : turn.world.memories) {
    if (&other != &memory && has_same_bytes(memory, other)) memory.pending = other.pending;
  }
  CUmemAccessDesc access{};
  access.location = form_of(physical.device).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult opened =
      CU(cuMemSetAccess, turn.way(), memory.address, memory.bytes, &access, std::size_t{1});
  turn.code(opened);
  memory.accessible = opened == CUDA_SUCCESS;
}

// unmap v1
void unmap(Turn& turn) {
  Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
  const CUresult code = CU(cuMemUnmap, turn.way(), memory.address, memory.bytes);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.world.end(memory);
  end_unused(turn.world, memory.backing);
}

// retain v1 [keep]: the handle behind a mapping, or else given back at once
void retain(Turn& turn) {
  const Memory& memory = turn.memory(0);
  if (!memory.live) return turn.skip("not live");
  CUmemGenericAllocationHandle handle = 0;
  const CUresult code =
      CU(cuMemRetainAllocationHandle, turn.way(), &handle, reinterpret_cast<void*>(memory.address));
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  Memory& physical = turn.world.memory("m" + std::to_string(memory.backing));
  if (handle != physical.handle) turn.say("another handle");
  if (turn.has(1)) {
    ++physical.references;
  } else {
    turn.code(CU(cuMemRelease, turn.way(), handle));
  }
}

}  // namespace

void add_virtual_verbs(Verbs& verbs) {
  verbs["create"] = create;
  verbs["release_handle"] = release_handle;
  verbs["reserve"] = reserve;
  verbs["unreserve"] = unreserve;
  verbs["map"] = map;
  verbs["unmap"] = unmap;
  verbs["retain"] = retain;
}

}  // namespace vramscope::differential
