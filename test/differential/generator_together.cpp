// Random calls on several threads at once, and by several processes.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

namespace vramscope::differential {

// What a thread does while others work: with memory of its own, so that no result depends on who is
// first.
void Generator::one_of_many(int own) {
  const std::string number = std::to_string(100 + own);
  const std::string memory = "a" + number;
  const std::string host = "h" + number;
  const std::string in_order = "a" + std::to_string(200 + own);
  const std::string bytes = std::to_string(size());
  emit(own, "alloc", {memory, bytes}, way());
  emit(own, "set", {memory, "head", std::to_string(1 + below(255)), "now"});
  if (chance(40)) emit(own, "range", {memory, "last"}, way());
  if (chance(30)) {
    emit(own, "pin", {host, bytes, std::to_string(below(8))});
    emit(own, "unpin", {host});
  }
  if (chance(15)) {
    emit(own, "alloc_async", {in_order, bytes, "-"}, way());
    emit(own, "set", {in_order, "head", std::to_string(1 + below(255)), "-"});
    emit(own, "free_async", {in_order, "-"}, way());
  }
  // Not `exit`: the C library's own may wait for a lock that another thread had at the fork.
  constexpr const char* kEnds[] = {"quick_exit", "_exit", "abort", "exec"};
  if (chance(4)) emit(own, "fork", {one_of(kEnds)});
  if (chance(3)) emit(own, "vfork", {chance(50) ? "_exit" : "exec"});
  if (chance(2)) emit(own, "spawn", {});
  if (chance(8)) emit(own, "trim", {});
  if (chance(60)) emit(own, "check", {memory, "head"});
  if (meets_contexts_ && chance(30)) emit(own, "visit", {});
  emit(own, "free", {memory}, way());
}

// One thread ends the program while the others are at work: then no results are printed.
void Generator::end_amid_calls() {
  constexpr const char* kEnds[] = {"exit", "_exit", "quick_exit", "abort", "kill", "exec"};
  emit(thread(), "end", {one_of(kEnds)});
  ended_ = true;
}

void Generator::together() {
  if (!capturing_.empty()) end_capture();
  const std::size_t rounds = 2 + below(4);
  for (std::size_t i = 0; i < threads_; ++i) {
    emit(static_cast<int>(i), "use", {chance(75) ? "c0" : pick(contexts_)});
  }
  const std::size_t begin = sequence_.lines.size();
  const bool is_last = chance(6);
  meets_contexts_ = chance(30);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < threads_; ++i) one_of_many(static_cast<int>(i));
    if (!is_last && chance(20)) emit(0, "report", {});
    if (is_last && round == rounds / 2) end_amid_calls();
  }
  for (std::size_t i = begin; i < sequence_.lines.size(); ++i) sequence_.lines[i].together = true;
}

// Memory that another process opens, writes, keeps while it is freed here, and closes.
void Generator::share() {
  const auto other = [&](std::string verb, std::vector<std::string> words) {
    Line line;
    line.process = 1;
    line.verb = std::move(verb);
    line.words = std::move(words);
    line.way = way();
    sequence_.lines.push_back(std::move(line));
  };
  const std::string shelf = name("k", 4);
  const std::string import = name("i", 4);
  const auto look = [&] { other("check", {import, chance(50) ? "head" : "tail"}); };
  const auto open = [&] {
    other("ipc_open", chance(70) ? std::vector<std::string>{import, shelf}
                                 : std::vector<std::string>{import, shelf, "old"});
  };
  switch (below(9)) {
    case 8: {  // freed while another process has it, and asked for again
      const std::string memory = name("a", slots_);
      if (memories_.contains(memory)) return;
      const std::string bytes = std::to_string((1 + below(3)) << 20);
      emit("alloc", {memory, bytes});
      emit("set", {memory, "head", std::to_string(1 + below(255)), "now"});
      emit("ipc_get", {shelf, memory});
      open();
      emit("free", {memory});
      emit("alloc", {memory, bytes});
      emit("set", {memory, "head", std::to_string(1 + below(255)), "now"});
      memories_.insert(memory);
      written_.insert(memory);
      return other("check", {import, "head"});
    }
    case 0:
    case 1:
    case 2: {
      const std::string memory = pick(memories_);
      if (memory.empty()) return;
      emit("set", {memory, "head", std::to_string(1 + below(255)), "now"});
      emit("set", {memory, "tail", std::to_string(1 + below(255)), "now"});
      emit("check", {memory, "head"});
      emit("check", {memory, "tail"});
      emit("ipc_get", {shelf, memory});
      open();
      return look();
    }
    case 3:
      return other("check", {import, "head"});
    case 4:
      return other("ipc_close", {import});
    case 5:
      other("alloc", {name("a", 4), std::to_string(size())});
      return other("free", {name("a", 4)});
    case 6: {
      const std::string memory = pick(memories_);
      if (!memory.empty()) emit("sync_memops", {memory, "1"});
      return;
    }
    default:
      return other("report", {});
  }
}

}  // namespace vramscope::differential
