// Where allocations are made from, and what is said of each.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/turn.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <iterator>

// Exported, so that their places can be looked up; the barrier keeps each frame on the stack.
#define SITE(number)                                                                         \
  extern "C" [[gnu::noinline, gnu::visibility("default")]] CUresult vramscope_site_##number( \
      CUresult (*body)(void*), void* argument) {                                             \
    const CUresult code = body(argument);                                                    \
    __asm__ volatile("" ::"r"(number));                                                      \
    return code;                                                                             \
  }
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)

namespace vramscope::differential {
namespace {

using Site = CUresult (*)(CUresult (*)(void*), void*);
constexpr Site kSiteFunctions[kSites] = {vramscope_site_0, vramscope_site_1, vramscope_site_2,
                                         vramscope_site_3, vramscope_site_4, vramscope_site_5,
                                         vramscope_site_6, vramscope_site_7};

// Largest power of two up to 512 that divides it: what README promises in every mode.
std::uint64_t alignment(std::uint64_t address) {
  return std::min<std::uint64_t>(512, address & (~address + 1));
}

bool overlaps_another(const World& world, const Memory& memory) {
  for (const auto& [name, other] : world.memories) {
    const bool is_place = other.kind != MemoryKind::physical && other.kind != MemoryKind::array &&
                          other.kind != MemoryKind::address_range &&
                          other.kind != MemoryKind::registered;
    if (&other == &memory || !other.live || !is_place) continue;
    if (memory.address < other.address + other.bytes &&
        other.address < memory.address + memory.bytes) {
      return true;
    }
  }
  return false;
}

// README, "Modes": kept from the next owner while a graph exists.
bool was_kept_back(const World& world, const Memory& memory) {
  if (world.mode != "cache" && world.mode != "dedicated") return false;
  if (world.graph_count() == 0 || world.runs_out) return false;
  return std::any_of(world.held.begin(), world.held.end(), [&](const World::Held& held) {
    return memory.address < held.address + held.bytes &&
           held.address < memory.address + memory.bytes;
  });
}

}  // namespace

CUresult at_site(int site, CUresult (*body)(void*), void* argument) {
  return kSiteFunctions[site](body, argument);
}

std::string site_ranges() {
  std::string text;
  for (std::size_t i = 0; i < kSites; ++i) {
    Dl_info found{};
    ElfW(Sym)* symbol = nullptr;
    void* const function = reinterpret_cast<void*>(kSiteFunctions[i]);
    if (dladdr1(function, &found, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) continue;
    if (symbol == nullptr) continue;
    text += "range " + std::to_string(i) + " " + std::to_string(symbol->st_value) + " " +
            std::to_string(symbol->st_size) + "\n";
  }
  return text;
}

CUcontext current_context() {
  CUcontext context = nullptr;
  return CU(cuCtxGetCurrent, Way::linked, &context) == CUDA_SUCCESS ? context : nullptr;
}

int current_device() {
  CUdevice device = 0;
  return CU(cuCtxGetDevice, Way::linked, &device) == CUDA_SUCCESS ? device : 0;
}

void began(Turn& turn, Memory& memory, MemoryKind kind, std::uint64_t address,
           std::uint64_t bytes) {
  World& world = turn.world;
  const bool on_host = kind == MemoryKind::pinned || kind == MemoryKind::registered;
  world.begin(memory, kind, address, bytes, on_host ? 0 : current_device(),
              world.find_context(current_context()), turn.site(0));
  memory.direct = turn.line.verb == "pitch" || world.is_capturing();
  if (kind == MemoryKind::device) turn.say("aligned", alignment(address));
  if (kind == MemoryKind::physical || kind == MemoryKind::array || world.together) return;
  if (overlaps_another(world, memory)) turn.say("overlaps live memory");
  if (kind == MemoryKind::device && was_kept_back(world, memory)) {
    turn.say("is memory that a graph may use");
  }
}

bool may_free(Turn& turn, const Memory& memory) {
  if (turn.world.is_capturing_strictly()) {
    turn.skip("a free during a capture");
    return false;
  }
  if (turn.world.together) return memory.live;  // what others have is changing
  const bool is_broken = memory.device == turn.world.broken_device;
  if (is_broken && turn.world.is_capturing() && current_device() != memory.device) {
    turn.skip("its device is broken");  // with us it succeeds during a capture
    return false;
  }
  if (!memory.live && turn.world.at(memory.address) != nullptr) {
    turn.say("stale: the address came back");
    return false;
  }
  return true;
}

}  // namespace vramscope::differential
