// Random calls about streams, contexts, graphs, pools, virtual memory and processes.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

namespace vramscope::differential {

void Generator::stream() {
  if (streams_.size() < 3 || chance(25)) {
    const std::string stream = name("s", 8);
    if (streams_.contains(stream)) return;
    emit("stream", {stream, chance(50) ? "1" : "0"});
    streams_.insert(stream);
    return;
  }
  if (!chance(20)) return;
  const std::string stream = pick(streams_);
  if (stream == capturing_ && !chance(20)) return;
  emit("stream_end", {stream});
  streams_.erase(stream);
  if (stream == capturing_) capturing_.clear();
}

void Generator::wait() {
  const std::string event = name("e", 4);
  switch (below(6)) {
    case 0:
      return chance(60) ? emit("sync_context", {}) : emit("sync_context", {pick(contexts_)});
    case 1:
    case 2:
      return emit("sync", {stream_or_default()});
    case 3:
      if (!streams_.empty()) emit("event", {event, pick(streams_)});
      return;
    case 4:
      return chance(50) || streams_.empty() ? emit("event_wait", {event})
                                            : emit("event_wait", {event, pick(streams_)});
    default:
      if (chance(30)) emit("event_end", {event});
  }
}

void Generator::end_context(const std::string& context) {
  contexts_.erase(context);
  // What lived there is gone: names stay for frees of it, a new start comes next.
  memories_.clear();
  pinned_.clear();
  registered_.clear();
  streams_.clear();
  arrays_.clear();
  written_.clear();
  capturing_.clear();
}

void Generator::context() {
  if (contexts_.size() < 4 && chance(60)) {
    const std::string context = name("c", 6);
    if (contexts_.contains(context)) return;
    std::vector<std::string> words = {context, std::to_string(below(devices_))};
    if (chance(25)) {
      emit("primary", words);
    } else {
      if (chance(40)) words.emplace_back("old");
      emit("context", words);
    }
    contexts_.insert(context);
    return;
  }
  const std::string context = pick(contexts_);
  if (chance(15)) return emit("attach", {context});
  if (chance(20)) return emit("detach", {context});
  if (chance(30)) return emit("peer", {context});
  if (context == "c0" || context.empty()) return;
  std::vector<std::string> words = {context};
  if (chance(30)) words.emplace_back("old");
  emit("context_end", words);
  contexts_.erase(context);
  for (std::size_t i = 0; i < threads_; ++i) emit(static_cast<int>(i), "use", {"c0"});
}

void Generator::use_context() {
  switch (below(5)) {
    case 0:
      return emit("push", {pick(contexts_)});
    case 1:
      return emit("pop", {});
    case 2:
      return emit("current", {});
    default:
      return emit("use", {chance(95) ? pick(contexts_) : "none"});
  }
}

void Generator::reset() {
  const std::string device = std::to_string(below(devices_));
  std::vector<std::string> words = {device};
  if (chance(30)) words.emplace_back("old");
  emit(chance(60) ? "reset" : "release", words);
  const std::string gone = pick(memories_);
  if (!gone.empty()) emit("free", {gone});
  emit(0, "primary", {"c0", "0"}, way());
  for (std::size_t i = 1; i < threads_; ++i) emit(static_cast<int>(i), "use", {"c0"});
  if (device == "0") end_context("");
  if (!gone.empty() && chance(70)) emit("free", {gone});
}

void Generator::capture() {
  if (capturing_.empty()) {
    if (streams_.empty()) return;
    const std::string stream = pick(streams_);
    emit("capture", {stream, std::to_string(below(3))});
    capturing_ = stream;
    for (std::size_t i = below(4); i > 0; --i) {
      const std::string memory = pick(memories_);
      if (memory.empty()) break;
      emit("set", {memory, "head", std::to_string(1 + below(255)), stream});
    }
    if (chance(70)) return;
  }
  const std::string graph = name("g", 4);
  const bool is_of_a_thread = chance(85);  // most end where they began
  emit(is_of_a_thread ? sequence_.lines.back().thread : thread(), "capture_end",
       {capturing_, graph}, way());
  capturing_.clear();
  graphs_.insert(graph);
}

void Generator::graph() {
  switch (below(6)) {
    case 0:
    case 1: {
      if (graphs_.empty()) return;
      const std::string executable = name("x", 4);
      std::vector<std::string> words = {executable, pick(graphs_)};
      if (chance(30)) words.emplace_back("old");
      emit("instantiate", words);
      executables_.insert(executable);
      return;
    }
    case 2:
    case 3:
      if (!executables_.empty() && !streams_.empty()) {
        emit("launch", {pick(executables_), pick(streams_)});
      }
      return;
    case 4: {
      if (graphs_.empty()) return;
      const std::string graph = pick(graphs_);
      if (chance(30)) return emit("clone", {name("g", 4), graph});
      emit("graph_end", {graph});
      graphs_.erase(graph);
      return;
    }
    default: {
      const std::string executable = pick(executables_);
      if (executable.empty()) return;
      emit("exec_end", {executable});
      executables_.erase(executable);
    }
  }
}

void Generator::pool() {
  const std::string pool = name("p", 3);
  const std::size_t kind = below(10);
  if (kind == 0) {
    emit("pool", {pool, std::to_string(below(devices_))});
    pools_.insert(pool);
  } else if (kind == 1) {
    emit(chance(40) ? "pool_end" : "pool_trim", {pool, chance(50) ? "0" : std::to_string(size())});
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

void Generator::virtual_memory() {
  const std::string physical = name("m", 3);
  const std::string range = name("r", 3);
  const std::string mapping = name("v", 3);
  const std::string bytes = std::to_string((1 + below(3)) << 21);
  switch (below(9)) {
    case 0:
    case 1:
      return emit("create", {physical, bytes, std::to_string(below(devices_))});
    case 2:
      return emit("reserve", {range, bytes});
    case 3:
    case 4:
      emit("map", {mapping, range, physical});
      emit("set", {mapping, "head", std::to_string(1 + below(255)), stream_or_now()});
      written_.insert(mapping);
      return;
    case 5:
      return emit("unmap", {mapping});
    case 6:
      return emit("release_handle", {physical});
    case 7:
      return emit("unreserve", {range});
    default:
      return emit("retain", {mapping});
  }
}

void Generator::report() {
  if (chance(25)) {
    emit(0, "handler", {});
  }
  emit(chance(80) ? 0 : thread(), "report", {});
}

void Generator::child() {
  constexpr const char* kEnds[] = {"exit", "quick_exit", "_exit", "abort", "exec"};
  switch (below(4)) {
    case 0:
      return emit("vfork", {chance(50) ? "_exit" : "exec"});
    case 1:
      return emit("spawn", {});
    default:
      return emit(thread(), "fork", {one_of(kEnds)});
  }
}

// Threads at the same time, each with memory of its own, so that no result depends on who is first.
void Generator::together() {
  if (!capturing_.empty()) return;
  const std::size_t rounds = 2 + below(4);
  for (std::size_t i = 0; i < threads_; ++i) {
    emit(static_cast<int>(i), "use", {"c0"});
  }
  const std::size_t begin = sequence_.lines.size();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < threads_; ++i) {
      const int own = static_cast<int>(i);
      const std::string memory = "a" + std::to_string(100 + i);
      const std::string host = "h" + std::to_string(100 + i);
      const std::string bytes = std::to_string(size());
      emit(own, "alloc", {memory, bytes}, way());
      emit(own, "set", {memory, "head", std::to_string(1 + below(255)), "now"});
      if (chance(40)) emit(own, "range", {memory, "last"}, way());
      if (chance(30)) {
        emit(own, "pin", {host, bytes, std::to_string(below(8))});
        emit(own, "unpin", {host});
      }
      if (chance(60)) emit(own, "check", {memory, "head"});
      emit(own, "free", {memory}, way());
    }
    if (chance(20)) emit(0, "report", {});
  }
  for (std::size_t i = begin; i < sequence_.lines.size(); ++i) sequence_.lines[i].together = true;
}

void Generator::trim() { emit("trim", {}); }

void Generator::fault() {
  emit(0, "fault", {"fail", std::to_string(below(devices_)), std::to_string(1 + below(3))});
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
