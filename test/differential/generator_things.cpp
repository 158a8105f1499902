// Random calls about streams, contexts, children and faults.
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
      if (streams_.empty()) return;
      emit("event", {event, pick(streams_)});
      events_.insert(event);
      return;
    case 4: {
      const std::string recorded = chance(95) ? pick(events_) : event;
      if (recorded.empty()) return;
      return chance(50) || streams_.empty() ? emit("event_wait", {recorded})
                                            : emit("event_wait", {recorded, pick(streams_)});
    }
    default:
      if (!chance(30)) return;
      emit("event_end", {event});
      events_.erase(event);
  }
}

void Generator::end_context(const std::string& context) {
  contexts_.erase(context);
  // What lived there is gone: names stay for frees of it, a new start comes next.
  memories_.clear();
  pinned_.clear();
  registered_.clear();
  streams_.clear();
  events_.clear();
  arrays_.clear();
  written_.clear();
  capturing_.clear();
}

void Generator::context() {
  if (contexts_.size() < 4 && chance(60)) {
    const std::string context = pick_new(contexts_, "c", 6);
    if (context.empty()) return;
    const std::size_t device = below(devices_);
    std::vector<std::string> words = {context, std::to_string(device)};
    if (chance(25)) {
      emit("primary", words);
    } else {
      if (chance(40)) words.emplace_back("old");
      emit("context", words);
    }
    contexts_[context] = device;
    return;
  }
  const std::string context = pick(contexts_);
  if (chance(15)) return emit("attach", {context});
  if (chance(20)) return emit("detach", {context});
  if (chance(devices_ > 1 ? 20 : 5)) return emit("peer", {context});
  if (context == "c0" || context.empty()) return;
  std::vector<std::string> words = {context};
  if (chance(30)) words.emplace_back("old");
  emit("context_end", words);
  contexts_.erase(context);
  for (std::size_t i = 0; i < threads_; ++i) emit(static_cast<int>(i), "use", {"c0"});
}

// Work of another device, which may reach the memory of this one, on memory that is freed and asked
// for again.
void Generator::peers() {
  const std::string stream = pick_new(streams_, "s", 8);
  const std::string memory = pick_new(memories_, "a", slots_);
  const std::string next = pick_new(memories_, "a", slots_);
  if (stream.empty() || memory.empty() || next.empty()) return;
  std::string far;
  for (const auto& [context, device] : contexts_) {
    if (device == 1) far = context;
  }
  const int owner = thread();
  if (far.empty()) {
    far = pick_new(contexts_, "c", 6);
    if (far.empty()) return;
    emit(owner, "context", {far, "1"}, way());
    contexts_[far] = 1;
  } else {
    emit(owner, "use", {far});
  }
  emit(owner, "peer", {"c0"}, way());
  emit(owner, "stream", {stream, "1"}, way());
  streams_.insert(stream);
  emit(owner, "use", {"c0"});
  const std::string bytes = std::to_string(size());
  emit(owner, "alloc", {memory, bytes}, way());
  emit(owner, "set", {memory, "head", std::to_string(1 + below(255)), stream});
  if (const std::string to = pick(memories_); !to.empty() && to != memory) {
    emit(owner, "copy", {to, "head", memory, "head", stream});
    written_.insert(to);
  }
  emit(owner, "free", {memory}, way());
  emit(owner, "alloc", {next, bytes}, way());
  emit(owner, "set", {next, "head", std::to_string(1 + below(255)), "now"});
  emit(owner, "check", {next, "head"});
  memories_.insert(next);
  written_.insert(next);
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

void Generator::trim() { emit("trim", {}); }

void Generator::fault() {
  emit(0, "fault", {"fail", std::to_string(below(devices_)), std::to_string(1 + below(3))});
}

}  // namespace vramscope::differential
