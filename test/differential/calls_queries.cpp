// Verbs that ask about memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// An address that once was a memory's means something else once it came back; which addresses come
// back is the driver's affair.
bool is_stale(Turn& turn, const Memory& memory, std::uint64_t address) {
  if (memory.address == 0 && !memory.live) {
    turn.skip("no address yet");
    return true;
  }
  const bool is_inside = memory.live && address - memory.address < memory.bytes;
  if (!is_inside && turn.world.together) {
    turn.skip("what others have is changing");
    return true;
  }
  if (is_inside || turn.world.at(address) == nullptr) return false;
  turn.say("stale: the address came back");
  return true;
}

std::uint64_t offset_in(const Turn& turn, const Memory& memory, std::size_t at) {
  if (turn.word(at) == "end") return memory.bytes;
  if (turn.word(at) == "last") return memory.bytes - 1;
  return turn.number(at);
}

// An address in words: of the memory that was asked about, before others are looked at, which other
// threads may be freeing.
void say_place(Turn& turn, const Memory& asked, const char* name, std::uint64_t address) {
  const std::uint64_t offset = address - asked.address;
  const std::string own = turn.word(0) + (offset == 0 ? "" : "+" + std::to_string(offset));
  const bool is_own = asked.live && offset < asked.bytes;
  turn.say(std::string(name) + "=" + (is_own ? own : turn.world.relation(address)));
}

// range a3 OFFSET|last|end
void range(Turn& turn) {
  const Memory& memory = turn.memory(0);
  const std::uint64_t address = memory.address + offset_in(turn, memory, 1);
  if (is_stale(turn, memory, address)) return;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const CUresult code = CU(cuMemGetAddressRange_v2, turn.way(), &base, &bytes, address);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  say_place(turn, memory, "base", base);
  turn.say("bytes", bytes);
}

struct Asked {
  CUpointer_attribute attribute;
  const char* name;
  std::size_t bytes;
  bool is_address;
};
// Not the ids: they count allocations of the driver, and are compared by number_of_ids.
constexpr Asked kAsked[] = {
    {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "type", 4, false},
    {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "device_pointer", 8, true},
    {CU_POINTER_ATTRIBUTE_HOST_POINTER, "host_pointer", 8, true},
    {CU_POINTER_ATTRIBUTE_IS_MANAGED, "managed", 1, false},
    {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "device", 4, false},
    {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "start", 8, true},
    {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "bytes", 8, false},
    {CU_POINTER_ATTRIBUTE_MAPPED, "mapped", 1, false},
};

// attribute a3 OFFSET NUMBER
void attribute(Turn& turn) {
  const Memory& memory = turn.memory(0);
  const std::uint64_t address = memory.address + offset_in(turn, memory, 1);
  if (is_stale(turn, memory, address)) return;
  const Asked& asked = kAsked[turn.number(2) % std::size(kAsked)];
  std::uint64_t value = 0;
  const CUresult code = CU(cuPointerGetAttribute, turn.way(), &value, asked.attribute, address);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  if (asked.is_address) return say_place(turn, memory, asked.name, value);
  turn.say(asked.name, value);
}

// attributes a3 OFFSET: all of them in one call
void attributes(Turn& turn) {
  const Memory& memory = turn.memory(0);
  const std::uint64_t address = memory.address + offset_in(turn, memory, 1);
  if (is_stale(turn, memory, address)) return;
  constexpr std::size_t kCount = std::size(kAsked);
  std::array<CUpointer_attribute, kCount> names{};
  std::array<std::uint64_t, kCount> values{};
  std::array<void*, kCount> places{};
  for (std::size_t i = 0; i < kCount; ++i) names[i] = kAsked[i].attribute, places[i] = &values[i];
  const CUresult code = CU(cuPointerGetAttributes, turn.way(), static_cast<unsigned>(kCount),
                           names.data(), places.data(), address);
  turn.code(code);
  for (std::size_t i = 0; code == CUDA_SUCCESS && i < kCount; ++i) {
    if (kAsked[i].is_address) {
      say_place(turn, memory, kAsked[i].name, values[i]);
    } else {
      turn.say(kAsked[i].name, values[i]);
    }
  }
}

// ids a3 a4: whether two memories have the same id, and each one at both its ends
void ids(Turn& turn) {
  std::array<std::uint64_t, 3> values{};
  const Memory& first = turn.memory(0);
  const Memory& second = turn.memory(1);
  if (!first.live || !second.live) return turn.skip("not live");
  const std::uint64_t addresses[] = {first.address, first.address + first.bytes - 1,
                                     second.address};
  for (std::size_t i = 0; i < values.size(); ++i) {
    turn.code(CU(cuPointerGetAttribute, turn.way(), &values[i], CU_POINTER_ATTRIBUTE_BUFFER_ID,
                 addresses[i]));
  }
  turn.say(values[0] == values[1] ? "same at its end" : "another at its end");
  turn.say(values[0] == values[2] ? "same as the other" : "another than the other");
}

// info: free memory, and what of it the program has itself
void info(Turn& turn) {
  std::size_t free_bytes = 0, total = 0;
  const CUresult code = CU(cuMemGetInfo_v2, turn.way(), &free_bytes, &total);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  const auto device = static_cast<std::size_t>(current_device());
  const auto plain = static_cast<std::size_t>(MemoryKind::device);
  const World::Sum& sum = turn.world.sums[device][plain];
  turn.say("total", total);
  turn.say("free", free_bytes);
  turn.say("live", static_cast<std::uint64_t>(sum.live));
  turn.say("count", sum.count);
  turn.say("held", turn.world.held_bytes);
  std::uint64_t others = 0;  // memories that share pages with plain ones, or may be idle somewhere
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    const World::Sum& other = turn.world.sums[device][kind];
    const bool is_pooled = kind == static_cast<std::size_t>(MemoryKind::stream_ordered) ||
                           kind == static_cast<std::size_t>(MemoryKind::graph);
    if (kind != plain) others += is_pooled ? other.made : other.count;
  }
  turn.say("others", others);
}

// old_info: the first signature, with 32 bits
void old_info(Turn& turn) {
  unsigned free_bytes = 0, total = 0;
  const CUresult code = CU(cuMemGetInfo, turn.way(), &free_bytes, &total);
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.say("total", total);
}

// total DEVICE
void total(Turn& turn) {
  std::size_t bytes = 0;
  const CUresult code =
      CU(cuDeviceTotalMem_v2, turn.way(), &bytes, static_cast<CUdevice>(turn.number(0)));
  turn.code(code);
  if (code == CUDA_SUCCESS) turn.say("total", bytes);
}

}  // namespace

void add_query_verbs(Verbs& verbs) {
  verbs["range"] = range;
  verbs["attribute"] = attribute;
  verbs["attributes"] = attributes;
  verbs["ids"] = ids;
  verbs["info"] = info;
  verbs["old_info"] = old_info;
  verbs["total"] = total;
}

}  // namespace vramscope::differential
