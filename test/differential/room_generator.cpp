// Phases that leave holes, and requests for what is left.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/room_generator.h"

#include <algorithm>
#include <bit>

namespace vramscope::differential {
namespace {

constexpr std::uint64_t kPage = 2 * kMiB;
constexpr std::uint64_t kEdges[] = {kMiB, 2 * kMiB, 10 * kMiB, 17 * kMiB, 20 * kMiB};
constexpr std::size_t kFewInAPhase = 8;
constexpr std::size_t kMostInAPhase = 40;

std::uint64_t rounded(std::uint64_t bytes) {
  return bytes <= kMiB ? bytes : (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Sequence generate_for_room(std::uint64_t seed, std::size_t calls) {
  return RoomGenerator(seed, calls).make();
}

RoomGenerator::RoomGenerator(std::uint64_t seed, std::size_t calls)
    : random_(seed * 0x9e3779b97f4a7c15U + 2), calls_(calls) {
  sequence_.comments.push_back("room, seed " + std::to_string(seed));
}

// Just below, at, above.
std::uint64_t RoomGenerator::near(std::uint64_t bytes) {
  constexpr std::uint64_t kSteps[] = {1, 512, 4096, 65536, kMiB / 2};
  if (chance(40)) return bytes;
  return chance(50) ? bytes + one_of(kSteps) : bytes - std::min(bytes - 1, one_of(kSteps));
}

std::uint64_t RoomGenerator::size() {
  switch (below(6)) {
    case 0:
      return 1 + below(kMiB);
    case 1:
      return near(std::uint64_t{512} << below(std::bit_width(capacity_ / 2 / 512)));
    case 2:
      return 1 + below(capacity_ / 8);
    default:
      return near(one_of(kEdges));
  }
}

std::uint64_t RoomGenerator::left() const { return capacity_ - std::min(capacity_, used_); }

void RoomGenerator::emit(std::string verb, std::vector<std::string> words) {
  Line line;
  line.verb = std::move(verb);
  line.words = std::move(words);
  sequence_.lines.push_back(std::move(line));
}

std::string RoomGenerator::allocate(std::uint64_t bytes) {
  std::string name = "a" + std::to_string(made_++);
  emit("alloc", {name, std::to_string(bytes)});
  live_[name] = {"free", bytes, current_};
  used_ += rounded(bytes);
  if (chance(4)) emit("room", {});
  return name;
}

void RoomGenerator::end(const std::string& name) {
  const auto found = live_.find(name);
  if (found == live_.end()) return;
  const bool in_order = found->second.verb == "free_async";
  emit(found->second.verb,
       in_order ? std::vector<std::string>{name, "-"} : std::vector<std::string>{name});
  if (in_order) emit("sync_context", {});  // else it is free when the stream gets there
  used_ -= std::min(used_, rounded(found->second.bytes));
  live_.erase(found);
}

// Those at even or odd places, each other's neighbours gone; or all, or some.
void RoomGenerator::end_some(Names names) {
  const std::size_t kind = below(5);
  if (chance(30)) std::reverse(names.begin(), names.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool goes = kind == 0 || (kind == 1 && i % 2 == 0) || (kind == 2 && i % 2 == 1) ||
                      (kind == 3 && chance(50)) || (kind == 4 && i % 4 != 0);
    if (goes) end(names[i]);
  }
}

void RoomGenerator::begin() {
  constexpr std::uint64_t kCapacities[] = {64, 64, 96, 128, 200, 256, 512, 1024};
  constexpr const char* kFits[] = {"first", "best"};
  constexpr const char* kEmptyChunks[] = {"given_back", "one_kept", "kept"};
  constexpr const char* kChunksOf[] = {"device", "context"};
  capacity_ = one_of(kCapacities) * kMiB;
  std::string& simulator = sequence_.simulator;
  simulator = "capacity=" + std::to_string(capacity_ / kMiB) + "MiB";
  simulator += std::string(",small_fit=") + one_of(kFits);
  simulator += std::string(",empty_chunks=") + one_of(kEmptyChunks);
  simulator += std::string(",chunks_of=") + one_of(kChunksOf);
  simulator += chance(25) ? ",context_bytes=3MiB" : ",context_bytes=0";
  if (chance(25)) simulator += ",module_bytes=1MiB";
  emit("init", {});
  emit("once", {});
  emit("primary", {"c0", "0"});
  emit("stream", {"s0", "1"});
}

std::size_t RoomGenerator::most_in_a_phase() { return chance(40) ? kMostInAPhase : kFewInAPhase; }

// Many of a size, sometimes one more than there is room for.
void RoomGenerator::fill() {
  const std::uint64_t bytes = size();
  const std::uint64_t most = std::min(left() / std::max(rounded(bytes), std::uint64_t{1}) + 1,
                                      std::uint64_t{most_in_a_phase()});
  Names names;
  for (std::size_t i = chance(40) ? most : 1 + below(most); i > 0; --i) {
    names.push_back(allocate(bytes));
  }
  if (chance(85)) end_some(names);
}

// Two sizes in turn; then one of them goes.
void RoomGenerator::pairs() {
  const std::uint64_t first = size(), second = size();
  const std::uint64_t each = std::max(rounded(first) + rounded(second), std::uint64_t{1});
  const std::uint64_t most = std::min(left() / each + 1, std::uint64_t{most_in_a_phase() / 2});
  Names firsts, seconds;
  for (std::size_t i = chance(50) ? most : 1 + below(most); i > 0; --i) {
    firsts.push_back(allocate(first));
    seconds.push_back(allocate(second));
  }
  for (const std::string& name : chance(70) ? firsts : seconds) end(name);
}

void RoomGenerator::end_phase() {
  Names names;
  for (const auto& [name, live] : live_) names.push_back(name);
  end_some(names);
}

// What is left in one piece, or nearly, or half.
void RoomGenerator::large() {
  emit("room", {});
  const std::uint64_t room = left();
  const std::uint64_t pages = below(4) * kPage;
  std::uint64_t bytes = room - std::min(room, pages);
  if (chance(25)) bytes = room / 2;
  if (bytes == 0) return end_phase();
  const std::string name = allocate(chance(50) ? bytes : near(bytes));
  if (chance(60)) end(name);
}

void RoomGenerator::single() {
  if (live_.empty() || chance(60)) {
    allocate(size());
    return;
  }
  auto found = live_.begin();
  std::advance(found, static_cast<std::ptrdiff_t>(below(live_.size())));
  end(std::string(found->first));
}

void RoomGenerator::context() {
  if (contexts_.size() < 4 && chance(40)) {
    const std::size_t number = contexts_.back() + 1;
    if (number >= 8) return;  // as many as the player has
    emit("context", {"c" + std::to_string(number), "0"});
    contexts_.push_back(number);
    current_ = number;
    return;
  }
  const std::size_t chosen = contexts_[below(contexts_.size())];
  if (chosen != 0 && chosen != current_ && chance(40)) {
    emit("context_end", {"c" + std::to_string(chosen)});
    std::erase(contexts_, chosen);
    std::erase_if(live_, [&](const auto& one) {
      const bool goes = one.second.context == chosen && one.second.verb == "free";
      if (goes) used_ -= std::min(used_, rounded(one.second.bytes));
      return goes;
    });
    return;
  }
  emit("use", {"c" + std::to_string(chosen)});
  current_ = chosen;
}

void RoomGenerator::array() {
  constexpr std::uint64_t kWidth = 1024;
  const std::uint64_t height = 1 + below(chance(50) ? 200 : 4000);
  const std::string name = "y" + std::to_string(made_++);
  emit("array", {name, std::to_string(kWidth), std::to_string(height)});
  live_[name] = {"array_end", 4 * kWidth * height, current_};
  used_ += rounded(4 * kWidth * height);
}

void RoomGenerator::ordered() {
  const std::string name = "a" + std::to_string(made_++);
  const std::uint64_t bytes = size();
  emit("alloc_async", {name, std::to_string(bytes), "-"});
  live_[name] = {"free_async", bytes, current_};
  used_ += rounded(bytes);
}

void RoomGenerator::physical() {
  const std::string name = "m" + std::to_string(made_++);
  const std::uint64_t bytes = (1 + below(12)) * kPage;
  emit("create", {name, std::to_string(bytes), "0"});
  live_[name] = {"release_handle", bytes, current_};
  used_ += bytes;
}

void RoomGenerator::module() {
  const std::string name = "u" + std::to_string(modules_ % 4);
  emit(modules_ % 8 < 4 ? "module" : "module_end", {name});
  ++modules_;
}

// One that allocates for itself, and is there for a while: frees in between may stay pending.
void RoomGenerator::graph() {
  if (has_graph_) {
    emit("exec_end", {"x0"});
    emit("graph_end", {"g0"});
    if (chance(70)) emit("graph_trim", {"0"});
    has_graph_ = false;
    return;
  }
  has_graph_ = true;
  emit("capture", {"s0", std::to_string(below(3))});
  emit("node", {"a" + std::to_string(made_++), std::to_string(size()), "s0", "7", "free", "-"});
  if (chance(10)) allocate(size());
  emit("capture_end", {"s0", "g0"});
  emit("instantiate", {"x0", "g0"});
  emit("launch", {"x0", "s0"});
  emit("sync", {"s0"});
}

// Memory of other kinds.
void RoomGenerator::beside() {
  const std::string name = "h" + std::to_string(made_++);
  switch (below(8)) {
    case 0:
      emit("pin", {name, std::to_string(size()), "0"});
      live_[name] = {"unpin", 0, current_};
      return;
    case 1: {
      const std::string managed = "a" + std::to_string(made_++);
      emit("managed", {managed, std::to_string(size()), "1"});
      live_[managed] = {"free", 0, current_};
      return;
    }
    case 2:
      return array();
    case 3:
      return ordered();
    case 4:
      return physical();
    case 5:
      return module();
    case 6: {
      const std::string pitched = "a" + std::to_string(made_++);
      emit("pitch",
           {pitched, std::to_string(1 + below(4096)), std::to_string(1 + below(2048)), "4"});
      live_[pitched] = {"free", 4 * kMiB, current_};
      used_ += 4 * kMiB;
      return;
    }
    default:
      return graph();
  }
}

Sequence RoomGenerator::make() {
  begin();
  const bool has_contexts = chance(40), has_others = chance(60);
  while (sequence_.lines.size() < calls_) {
    const std::size_t kind = below(20);
    if (kind < 3) {
      fill();
    } else if (kind < 6) {
      pairs();
    } else if (kind < 8) {
      end_phase();
    } else if (kind < 12) {
      large();
    } else if (kind < 14) {
      for (std::size_t i = 1 + below(8); i > 0; --i) single();
    } else if (kind < 18) {
      for (std::size_t i = has_others ? 1 + below(5) : 0; i > 0; --i) beside();
    } else if (has_contexts) {
      context();
    }
  }
  emit("room", {});
  emit("end", {"_exit"});
  return std::move(sequence_);
}

}  // namespace vramscope::differential
