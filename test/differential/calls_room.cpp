// Verbs that ask how much room there is, and of memory that is asked for without a size.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// Pages of 2 MiB with blocks of ours up to 1 MiB that live: the segments, at least, that hold such.
// From what the program knows alone, whatever the library says of itself.
std::uint64_t pages_with_small_blocks(const World& world, int device) {
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  constexpr std::uint64_t kMostOfASmallBlock = std::uint64_t{1} << 20;
  std::set<std::uint64_t> pages;
  for (const auto& [name, memory] : world.memories) {
    const bool is_plain = memory.live && memory.kind == MemoryKind::device && !memory.direct;
    if (!is_plain || memory.device != device || memory.bytes > kMostOfASmallBlock) continue;
    pages.insert(memory.address / kPage);
  }
  return pages.size();
}

// once: from now on requests are made once, and a refusal says what say_room does
void once(Turn& turn) {
  turn.world.asks_once = true;
  turn.say("0");
}

// room: what is free
void room(Turn& turn) {
  std::size_t free_bytes = 0, total = 0;
  const CUresult code = CU(cuMemGetInfo_v2, turn.way(), &free_bytes, &total);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.say("total", total);
  turn.say("free", free_bytes);
  World& world = turn.world;
  if (!world.is_capturing() && world.graph_count() == 0) world.freed_beside_graphs = 0;
  say_room(turn);
}

// module u1
void module(Turn& turn) {
  constexpr char kCode[] = ".version 6.0\n.target sm_50\n.address_size 64\n";
  CUmodule& module = turn.world.modules[turn.index(0)];
  if (module != nullptr) return turn.skip("live");
  const CUresult code = CU(cuModuleLoadData, turn.way(), &module, kCode);
  turn.code(code);
  if (code != CUDA_SUCCESS) module = nullptr;
}

// module_end u1
void module_end(Turn& turn) {
  CUmodule& module = turn.world.modules[turn.index(0)];
  if (module == nullptr) return turn.skip("no module");
  const CUresult code = CU(cuModuleUnload, turn.way(), module);
  turn.code(code);
  if (code == CUDA_SUCCESS) module = nullptr;
}

}  // namespace

void say_room(Turn& turn) {
  const World& world = turn.world;
  turn.say("small", pages_with_small_blocks(world, current_device()));
  turn.say("captures", world.is_capturing() ? 1 : 0);
  turn.say("held", world.freed_beside_graphs);
}

void add_room_verbs(Verbs& verbs) {
  verbs["once"] = once;
  verbs["room"] = room;
  verbs["module"] = module;
  verbs["module_end"] = module_end;
}

}  // namespace vramscope::differential
