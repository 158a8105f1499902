// One line of a sequence while it runs: its words in, its result as text out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test/differential/world.h"

namespace vramscope::differential {

struct Turn {
  World& world;
  const Line& line;
  std::string out;

  [[nodiscard]] Way way() const { return line.way; }
  [[nodiscard]] int thread() const { return line.thread; }
  [[nodiscard]] bool has(std::size_t word) const { return word < line.words.size(); }
  [[nodiscard]] const std::string& word(std::size_t at) const { return line.words.at(at); }
  [[nodiscard]] std::uint64_t number(std::size_t at) const { return std::stoull(word(at)); }
  // The number in a name: 3 of "s3".
  [[nodiscard]] std::size_t index(std::size_t at) const { return std::stoull(word(at).substr(1)); }
  [[nodiscard]] Memory& memory(std::size_t at) { return world.memory(word(at)); }
  [[nodiscard]] int site(std::size_t at) const { return static_cast<int>(index(at) % kSites); }

  void say(std::string_view text) {
    if (!out.empty()) out += ' ';
    out += text;
  }
  void say(std::string_view name, std::uint64_t value) {
    say(std::string(name) + "=" + std::to_string(value));
  }
  void code(CUresult result) { say(std::to_string(static_cast<int>(result))); }
  // The line cannot run now, for a reason that the sequence gives.
  void skip(std::string_view why) { say("skipped: " + std::string(why)); }
};

using Verb = void (*)(Turn&);
using Verbs = std::map<std::string_view, Verb>;
void add_memory_verbs(Verbs& verbs);
void add_query_verbs(Verbs& verbs);
void add_host_verbs(Verbs& verbs);
void add_copy_verbs(Verbs& verbs);
void add_stream_verbs(Verbs& verbs);
void add_context_verbs(Verbs& verbs);
void add_graph_verbs(Verbs& verbs);
void add_pool_verbs(Verbs& verbs);
void add_virtual_verbs(Verbs& verbs);
void add_life_verbs(Verbs& verbs);
void add_sharing_verbs(Verbs& verbs);
void add_room_verbs(Verbs& verbs);
void add_race_verbs(Verbs& verbs);

// Runs `body` below a function of its own for each site, so that stacks tell them apart.
CUresult at_site(int site, CUresult (*body)(void*), void* argument);
template <class Body>
CUresult at_site(int site, Body body) {
  return at_site(
      site, [](void* argument) { return (*static_cast<Body*>(argument))(); }, &body);
}
// As programs do that get out of memory: once more. A fault that was asked for hits one call of the
// device, which is another one with a cache; the program then has its memory in any mode.
template <class Attempt>
CUresult allocate_at(Turn& turn, Attempt attempt) {
  const CUresult code = at_site(turn.site(0), attempt);
  if (code != CUDA_ERROR_OUT_OF_MEMORY || turn.world.asks_once) return code;
  turn.world.runs_out = true;
  return at_site(turn.site(0), attempt);
}
// "site 3 4096 96": the function of each site, by its offset in the program and its length.
[[nodiscard]] std::string site_ranges();

// Of the calling thread; null without one.
[[nodiscard]] CUcontext current_context();
[[nodiscard]] int current_device();
// Of an import: its owner has freed it since, and others may have its bytes.
[[nodiscard]] bool has_lost_its_bytes(const Memory& memory);
// A free of a captured or freed address has the same answer everywhere only while the address means
// nothing else: natively a free may end a capture, and an address that was freed may come back.
[[nodiscard]] bool may_free(Turn& turn, const Memory& memory);
// "small=2 captures=0 held=1": pages with small blocks that live, whether a capture is open, and
// what was freed that a graph may name.
void say_room(Turn& turn);
// What the program notes of an allocation that succeeded, and says about it.
void began(Turn& turn, Memory& memory, MemoryKind kind, std::uint64_t address, std::uint64_t bytes);

}  // namespace vramscope::differential
