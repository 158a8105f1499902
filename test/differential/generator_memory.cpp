// Random calls about memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

namespace vramscope::differential {

void Generator::allocate() {
  const std::string memory = name("a", slots_);
  if (memories_.contains(memory) && !chance(5)) return;
  emit("alloc", {memory, std::to_string(size())});
  memories_.insert(memory);
  written_.erase(memory);
  if (chance(40)) {
    emit("set", {memory, "head", std::to_string(1 + below(255)), stream_or_now()});
    written_.insert(memory);
  }
}

void Generator::free_memory() {
  const std::string memory = pick(memories_);
  if (memory.empty()) return;
  const bool in_order = pooled_.contains(memory) ? chance(70) : chance(frees_in_order_);
  if (in_order) {
    emit("free_async", {memory, stream_or_default()});
  } else {
    emit("free", {memory});
  }
  memories_.erase(memory);
  pooled_.erase(memory);
  written_.erase(memory);
}

void Generator::free_wrongly() {
  constexpr const char* kForeign[] = {"null", "stack", "heap", "code", "high", "one"};
  constexpr const char* kOffsets[] = {"1", "8", "256", "512", "4096", "1048576", "2097152"};
  switch (below(5)) {
    case 0:
      return emit("free_foreign", {one_of(kForeign)});
    case 1:
    case 2:
      return emit("free_at", {name("a", slots_), one_of(kOffsets)});
    case 3:
      return emit("unpin", {name("h", 8), one_of(kOffsets)});
    default:
      const std::string memory = name("a", slots_);
      if (!memories_.contains(memory)) emit("free", {memory});  // again, or before it was
  }
}

void Generator::allocate_other_kinds() {
  switch (below(5)) {
    case 0: {
      const std::string memory = name("a", slots_);
      if (memories_.contains(memory)) return;
      emit("pitch", {memory, std::to_string(1 + below(3000)), std::to_string(1 + below(40)), "4"});
      memories_.insert(memory);
      written_.erase(memory);
      return;
    }
    case 1: {
      const std::string memory = name("a", slots_);
      if (memories_.contains(memory)) return;
      emit("managed", {memory, std::to_string(1 + below(100000)), chance(80) ? "1" : "2"});
      memories_.insert(memory);
      written_.erase(memory);
      return;
    }
    case 2:
    case 3: {
      const std::string array = name("y", 4);
      emit("array", {array, std::to_string(1 + below(200)), std::to_string(below(50))});
      arrays_.insert(array);
      return;
    }
    default:
      if (arrays_.empty()) return;
      emit("array_end", {pick(arrays_)});
  }
}

void Generator::query() {
  const std::string memory = chance(70) && !memories_.empty()
                                 ? pick(memories_)
                                 : (chance(70) ? name("a", slots_) : name("h", 8));
  switch (below(8)) {
    case 0:
    case 1:
      return emit("range", {memory, offset()});
    case 2:
      return emit("attributes", {memory, offset()});
    case 3:
    case 4:
      return emit("attribute", {memory, offset(), std::to_string(below(8))});
    case 5:
      return emit("ids",
                  {chance(30) || memories_.empty() ? name("a", slots_) : pick(memories_), memory});
    case 6:
      if (!shares_) emit("info", {});  // what others keep cached is not free for this process
      return;
    default:
      return chance(50)
                 ? emit("total", {std::to_string(below(chance(80) ? devices_ : devices_ + 1))})
                 : emit("old_info", {});
  }
}

void Generator::refuse() {
  constexpr const char* kSizes[] = {"0", "18446744073709551615", "1099511627776", "17179869185"};
  const std::string memory = name("a", slots_);
  if (!memories_.contains(memory)) emit("alloc", {memory, one_of(kSizes)});
}

void Generator::write() {
  const std::string memory = chance(80) || pinned_.empty() ? pick(memories_) : pick(pinned_);
  if (memory.empty()) return;
  emit("set",
       {memory, chance(60) ? "head" : "tail", std::to_string(1 + below(255)), stream_or_now()});
  written_.insert(memory);
}

void Generator::copy() {
  const std::string from = pick(written_);
  const std::string to = chance(25) && !pinned_.empty() ? pick(pinned_) : pick(memories_);
  if (from.empty() || to.empty() || to == from) return;
  emit("copy",
       {to, chance(60) ? "head" : "tail", from, chance(60) ? "head" : "tail", stream_or_now()});
  written_.insert(to);
}

// Work in flight on one stream, its memory freed and asked for again: the next owner writes on
// another stream, and neither may meet the other's bytes.
void Generator::copy_and_free() {
  const std::string stream = pick(streams_);
  const std::string to = pick(memories_);
  if (stream.empty() || to.empty()) return;
  const bool on_host = chance(25);
  const std::string from = on_host ? name("h", 8) : name("a", slots_);
  if (from == to || memories_.contains(from) || pinned_.contains(from)) return;
  if (registered_.contains(from)) return;
  const std::string bytes = std::to_string(size());
  const std::string flags = std::to_string(below(8));
  const auto allocate = [&](const std::string& name) {
    if (on_host) return emit("pin", {name, bytes, flags});
    emit("alloc", {name, bytes});
  };
  const int owner = thread();
  allocate(from);
  emit("set", {from, "head", std::to_string(1 + below(255)), on_host ? "now" : stream});
  emit(owner, "copy", {to, "head", from, "head", stream}, Way::linked);
  emit(thread(), on_host ? "unpin" : "free", {from}, way());
  const std::string next = on_host ? name("h", 8) : name("a", slots_);
  const bool taken = next == to || memories_.contains(next) || pinned_.contains(next) ||
                     registered_.contains(next);
  written_.insert(to);
  if (taken) return;
  allocate(next);
  emit("set", {next, "head", std::to_string(1 + below(255)), chance(60) ? "now" : stream_or_now()});
  (on_host ? pinned_ : memories_).insert(next);
  written_.insert(next);
  if (chance(50)) emit("check", {to, "head"});
  if (chance(50)) emit("check", {next, "head"});
}

void Generator::check() {
  const std::string memory = pick(written_);
  if (!memory.empty()) emit("check", {memory, chance(60) ? "head" : "tail"});
}

void Generator::pin() {
  const std::string memory = name("h", 8);
  if (pinned_.contains(memory) || registered_.contains(memory)) return;
  std::uint64_t bytes = size();
  if (chance(3)) bytes = 0;
  const std::string flags = chance(30) ? "old" : std::to_string(below(chance(90) ? 8 : 16));
  emit("pin", {memory, std::to_string(bytes), flags});
  pinned_.insert(memory);
  written_.erase(memory);
}

void Generator::unpin() {
  const std::string memory = pick(pinned_);
  if (memory.empty()) return;
  emit("unpin", {memory});
  pinned_.erase(memory);
  written_.erase(memory);
}

void Generator::register_host() {
  const std::string memory = chance(50) && !registered_.empty() ? pick(registered_) : name("h", 8);
  if (registered_.contains(memory)) {
    emit("unregister",
         chance(85) ? std::vector<std::string>{memory} : std::vector<std::string>{memory, "8"});
    registered_.erase(memory);
    written_.erase(memory);
    return;
  }
  if (pinned_.contains(memory)) return emit("unregister", {memory});
  // Pages are shared by neighbours, and ranges overlap now and then.
  std::vector<std::string> words = {memory, std::to_string(below(64) * 1000),
                                    std::to_string(1 + below(6000)),
                                    std::to_string(below(chance(90) ? 4 : 32))};
  if (chance(20)) words.emplace_back("old");
  emit("register", words);
  registered_.insert(memory);
  written_.erase(memory);
}

void Generator::ask_host() {
  const auto& likely = chance(50) ? pinned_ : registered_;
  const std::string memory = chance(75) && !likely.empty() ? pick(likely) : name("h", 8);
  const std::string where = chance(60) ? "0" : (chance(50) ? "end" : "17");
  emit(chance(50) ? "flags" : "device_pointer", {memory, where});
}

}  // namespace vramscope::differential
