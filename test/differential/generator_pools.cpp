// Random calls about pools and virtual memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

namespace vramscope::differential {

void Generator::pool() {
  const std::size_t kind = below(10);
  if (kind == 0 || (kind == 1 && pools_.empty())) {
    const std::string pool = name("p", 3);
    emit("pool", {pool, std::to_string(below(devices_))});
    pools_.insert(pool);
  } else if (kind == 1) {
    const std::string pool = pick(pools_);
    if (chance(70)) return emit("pool_trim", {pool, chance(50) ? "0" : std::to_string(size())});
    emit("pool_end", {pool});
    pools_.erase(pool);
  } else {
    const std::string memory = name("a", slots_);
    if (memories_.contains(memory)) return;
    std::vector<std::string> words = {memory, std::to_string(size()), stream_or_default()};
    if (chance(30) && !pools_.empty()) words.push_back(pick(pools_));
    emit("alloc_async", words);
    pooled_.insert(memory);
    memories_.insert(memory);
    written_.erase(memory);
  }
}

// A physical memory, addresses for it, and one at the other.
void Generator::map_all() {
  const std::string physical = pick_new(physicals_, "m", 4);
  const std::string range = pick_new(ranges_, "r", 4);
  if (physical.empty() || range.empty()) return;
  const std::uint64_t bytes = (1 + below(3)) << 21;
  emit("create", {physical, std::to_string(bytes), std::to_string(below(devices_))});
  physicals_[physical] = bytes;
  emit("reserve", {range, std::to_string(bytes)});
  ranges_[range] = bytes;
  map(range);
}

// What fits, and often work with it.
void Generator::map(const std::string& range) {
  const std::string mapping = pick_new(mappings_, "v", 6);
  const std::string physical = pick(physicals_);
  if (mapping.empty() || physical.empty()) return;
  if (physicals_[physical] > ranges_[range] && !chance(5)) return;
  emit("map", {mapping, range, physical});
  mappings_[mapping] = {range, physical, physicals_[physical]};
  if (chance(30)) release(physical);  // as most programs do: the mapping keeps it
  if (!chance(80)) return;
  emit("set", {mapping, "head", std::to_string(1 + below(255)), stream_or_now()});
  written_.insert(mapping);
  if (chance(40)) emit("check", {mapping, "head"});
}

void Generator::unmap(const std::string& mapping) {
  const Mapping was = mappings_.at(mapping);
  emit("unmap", {mapping});
  mappings_.erase(mapping);
  written_.erase(mapping);
  if (chance(40)) return map(was.range);
  if (chance(50)) emit("unreserve", {was.range}), ranges_.erase(was.range);
  if (chance(50)) release(was.physical);
}

void Generator::release(const std::string& physical) {
  emit("release_handle", {physical});
  physicals_.erase(physical);
}

// From the mapping alone, as where the handle is not known any more.
void Generator::retain(const std::string& mapping) {
  const Mapping& mapped = mappings_.at(mapping);
  emit("retain", {mapping, "keep"});
  physicals_[mapped.physical] = mapped.bytes;
}

void Generator::virtual_memory() {
  const std::string mapping = pick(mappings_);
  switch (below(9)) {
    case 0:
      return emit("release_handle", {name("m", 4)});
    case 1:
      return emit("unreserve", {name("r", 4)});
    case 2: {
      const std::string range = pick(ranges_);
      return range.empty() ? map_all() : map(range);
    }
    case 3:
    case 4:
      return mapping.empty() ? map_all() : unmap(mapping);
    case 5:
      if (mapping.empty()) return map_all();
      return chance(60) ? emit("retain", {mapping}) : retain(mapping);
    case 6:
      if (mapping.empty()) return map_all();
      emit("set", {mapping, "tail", std::to_string(1 + below(255)), stream_or_now()});
      return emit("check", {mapping, "tail"});
    default:
      return map_all();
  }
}

}  // namespace vramscope::differential
