// Random calls about captures and graphs.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

namespace vramscope::differential {

// Most end where they began, as they must unless they are relaxed.
void Generator::end_capture() {
  const std::string graph = name("g", 6);
  if (graphs_.contains(graph)) emit("graph_end", {graph});
  emit(capturing_thread_, "capture_end", {capturing_, graph}, way());
  graphs_.insert(graph);
  const std::string stream = capturing_;
  capturing_.clear();
  if (chance(50)) return;
  const std::string executable = name("x", 6);
  if (executables_.contains(executable)) emit("exec_end", {executable});
  emit("instantiate", {executable, graph});
  executables_.insert(executable);
  for (std::size_t i = below(3); i > 0; --i) emit("launch", {executable, stream});
}

void Generator::capture() {
  if (!capturing_.empty()) {
    if (chance(5)) return emit("capture_end", {capturing_, "g7"});  // on any thread
    return end_capture();
  }
  if (streams_.empty()) return;
  const std::string stream = pick(streams_);
  emit("capture", {stream, std::to_string(below(3))});
  capturing_ = stream;
  capturing_thread_ = sequence_.lines.back().thread;
  for (std::size_t i = below(4); i > 0; --i) {
    const std::string memory = pick(memories_);
    if (memory.empty()) break;
    emit("set", {memory, "head", std::to_string(1 + below(255)), stream});
  }
  for (std::size_t i = chance(40) ? 1 + below(2) : 0; i > 0; --i) node();
  if (chance(60)) end_capture();
}

// Memory of the graph itself.
void Generator::node() {
  if (capturing_.empty()) return;
  const std::string memory = pick_new(memories_, "a", slots_);
  if (memory.empty()) return;
  const bool stays = chance(40);
  std::vector<std::string> words = {memory,
                                    std::to_string(size()),
                                    capturing_,
                                    std::to_string(1 + below(255)),
                                    stays ? "keep" : "free",
                                    "-"};
  if (const std::string to = pick(memories_); !to.empty() && chance(60)) {
    words.back() = to;
    written_.insert(to);
  }
  if (chance(25)) {
    const std::string pool = chance(80) && !pools_.empty() ? pick(pools_) : name("p", 3);
    if (!pools_.contains(pool)) emit("pool", {pool, std::to_string(below(devices_))});
    pools_.insert(pool);
    words.push_back(pool);
  }
  emit(capturing_thread_, "node", words, way());
  if (!stays) return;
  memories_.insert(memory);
  pooled_.insert(memory);
  written_.insert(memory);
}

void Generator::graph() {
  if (chance(4)) return emit("graph_trim", {std::to_string(below(devices_))});
  switch (below(6)) {
    case 0:
    case 1: {
      if (graphs_.empty()) return;
      const std::string executable = pick_new(executables_, "x", 6);
      if (executable.empty()) return;
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
      if (const std::string copy = pick_new(graphs_, "g", 6); !copy.empty() && chance(40)) {
        emit("clone", {copy, graph});
        graphs_.insert(copy);
        return;
      }
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

}  // namespace vramscope::differential
