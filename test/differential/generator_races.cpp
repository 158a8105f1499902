// Random calls of threads that free, capture and end contexts at the same time.
// SPDX-License-Identifier: Apache-2.0
//
// Results must not depend on who is first, so each thread has memory and a stream of its own. Nor
// may a wait of ours that runs already meet the begin of a capture of its context, which is not
// promised (reporter/manual/limits.md, "Captures"): captures are of device 1, whose memory nobody
// frees meanwhile, and where there are captures only a context that captures itself is destroyed,
// for an end waits for pinned memory and so for every context.
#include "test/differential/generator.h"

namespace vramscope::differential {
namespace {

constexpr const char* kPauses[] = {"0", "200", "500", "1000"};  // microseconds

std::string numbered(const char* letter, int base, int own) {
  return letter + std::to_string(base + own);
}

}  // namespace

// Memory with work in flight is freed, and asked for again: what the next owner writes must not
// reach the work, nor the work the next owner.
void Generator::reuse_in_race(int own) {
  const std::string stream = numbered("s", 8, own), copy = numbered("a", 300, own);
  const std::size_t blocks = 1 + below(3);
  const std::string bytes = std::to_string(favourite_);
  const auto block = [&](std::size_t i) {
    return numbered("a", 400 + 10 * static_cast<int>(i), own);
  };
  const auto value = [&] { return std::to_string(1 + below(255)); };
  for (std::size_t i = 0; i < blocks; ++i) emit(own, "alloc", {block(i), bytes}, way());
  emit(own, "set", {block(0), "head", value(), stream});
  work_in_race(own, stream);
  emit(own, "copy", {copy, "head", block(0), "head", stream});
  for (std::size_t i = 0; i < blocks; ++i) emit(own, "free", {block(i)}, way());
  emit(own, "pause", {one_of(kPauses)});
  for (std::size_t i = 0; i < blocks; ++i) {
    emit(own, "alloc", {block(i), bytes}, way());
    emit(own, "set", {block(i), "head", value(), "now"});
  }
  emit(own, "check", {copy, "head"});
  for (std::size_t i = 0; i < blocks; ++i) emit(own, "free", {block(i)}, way());
}

// For half a millisecond to three.
void Generator::work_in_race(int own, const std::string& stream) {
  emit(own, "work", {stream, std::to_string(1 + (500 + below(2500)) / delay_us_)});
}

void Generator::record_in_race(int own) {
  std::vector<std::string> words = {std::to_string(1 + below(2)), one_of(kPauses)};
  if (chance(40) && chance(50)) words.emplace_back("lost");
  emit(own, "record", words);
  emit(own, "pause", {one_of(kPauses)});
}

// What one thread does in each round of a race.
void Generator::race_as(Racer role, int own) {
  switch (role) {
    case Racer::reuses:
      return reuse_in_race(own);
    case Racer::records:
      for (int i = 0; i < 5; ++i) record_in_race(own);
      return;
    case Racer::visits:
      return emit(own, "visit", {numbered("a", 500, own), std::to_string(favourite_)}, way());
    case Racer::waits:
      for (int i = 0; i < 2; ++i) emit(own, "sync_context", {}, way());
      return emit(own, "trim", {});
  }
}

// A context of another number on device 0 works with the memory, or none does; one on device 1
// captures.
void Generator::race() {
  if (!capturing_.empty()) end_capture();
  const bool has_second = chance(50), has_captures = chance(70);
  emit(0, "use", {"c0"});
  if (has_second) emit(0, "context", {"c6", "0"});
  if (has_captures) emit(0, "context", {"c7", "1"});
  if (has_captures && chance(50)) emit(0, "alloc", {"a600", "512"});
  const Racer other = has_captures ? Racer::records : Racer::visits;
  std::vector<Racer> roles = {Racer::reuses, other};
  for (std::size_t i = 0; i < threads_; ++i) {
    if (i >= 2) roles.push_back(chance(50) ? Racer::reuses : chance(50) ? Racer::waits : other);
    const int own = static_cast<int>(i);
    if (roles[i] == Racer::records) {
      emit(own, "use", {"c7"});
      continue;
    }
    emit(own, "use", {has_second && chance(70) ? "c6" : "c0"});
    emit(own, "stream", {numbered("s", 8, own), "1"});
    emit(own, "use", {"c0"});
    emit(own, "alloc", {numbered("a", 300, own), std::to_string(favourite_)});
  }
  const std::size_t begin = sequence_.lines.size();
  for (std::size_t rounds = 2 + below(2); rounds > 0; --rounds) {
    for (std::size_t i = 0; i < threads_; ++i) race_as(roles[i], static_cast<int>(i));
  }
  run_together(begin);
  for (std::size_t i = 0; i < threads_; ++i) {
    const int own = static_cast<int>(i);
    emit(own, "use", {"c0"});
    emit(own, "stream_end", {numbered("s", 8, own)});
    emit(own, "free", {numbered("a", 300, own)});
  }
  if (has_captures) emit(0, "context_end", {"c7"});
  if (has_second) emit(0, "context_end", {"c6"});
  emit(0, "use", {"c0"});
}

// One thread's free waits when another's begins, which a capture puts off; when the first has
// waited the second is still in use.
void Generator::race_with_pending() {
  if (!capturing_.empty()) end_capture();
  const std::size_t unit = 400 + below(1200);
  const auto units = [&](std::size_t count) { return std::to_string(count * unit); };
  const auto work = [&](std::size_t count) { return std::to_string(1 + count * unit / delay_us_); };
  const std::string bytes = std::to_string(favourite_);
  emit(1, "context", {"c7", "1"});
  emit(1, "alloc", {"a301", bytes});  // a second place: the free is not the usual one
  for (const int own : {0, 2}) {
    emit(own, "use", {"c0"});
    emit(own, "stream", {numbered("s", 8, own), "1"});
    for (const int base : {300, 400}) emit(own, "alloc", {numbered("a", base, own), bytes});
  }
  emit(2, "set", {"a402", "head", "1", "s10"});
  const std::size_t begin = sequence_.lines.size();
  emit(0, "work", {"s8", work(3)});
  emit(0, "free", {"a400"}, way());
  emit(1, "pause", {units(1)});
  emit(1, "record", {"2", units(1)});
  emit(2, "pause", {std::to_string(unit * 3 / 2)});
  emit(2, "work", {"s10", work(7)});
  emit(2, "copy", {"a302", "head", "a402", "head", "s10"});
  emit(2, "free", {"a402"}, way());
  emit(2, "sync", {"s8"});  // the first has waited
  emit(2, "pause", {units(1)});
  emit(2, "alloc", {"a402", bytes}, way());
  emit(2, "set", {"a402", "head", "2", "now"});
  emit(2, "check", {"a302", "head"});
  run_together(begin);
  emit(2, "free", {"a402"});
  for (const int own : {0, 2}) {
    emit(own, "stream_end", {numbered("s", 8, own)});
    emit(own, "free", {numbered("a", 300, own)});
  }
  emit(1, "context_end", {"c7"});
  emit(1, "use", {"c0"});
}

// Two threads capture their own default streams: a free after the first end meets the second's.
void Generator::race_of_own_streams() {
  if (!capturing_.empty()) end_capture();
  const std::string memory = pick_new(memories_, "a", slots_);
  if (memory.empty()) return;
  const int first = thread(), second = (first + 1) % static_cast<int>(threads_);
  emit(first, "alloc", {memory, std::to_string(size())});
  for (const int own : {first, second}) {
    emit(own, "use", {"c0"});
    emit(own, "own_stream", {numbered("s", 16, own)});
    emit(own, "capture", {numbered("s", 16, own), "2"});
  }
  const int early = chance(50) ? first : second;
  for (const int own : {early, first + second - early}) {
    const std::string graph = name("g", 6);
    if (graphs_.contains(graph)) emit("graph_end", {graph});
    emit(own, "capture_end", {numbered("s", 16, own), graph});
    graphs_.insert(graph);
    if (own == early) emit(thread(), "free", {memory}, way());
  }
}

void Generator::race_with_begin() {
  if (!capturing_.empty()) end_capture();
  const std::string memory = pick_new(memories_, "a", slots_);
  if (memory.empty()) return;
  const int own = thread();
  emit(own, "stream", {"s15", "1"});
  emit(own, "alloc", {memory, std::to_string(size())});
  emit(own, "free_in_begin", {memory, "s15", std::to_string(below(2))});
  emit(own, "stream_end", {"s15"});
}

// Segments are being given back, which waits for work on another device, when their own breaks and
// their context ends.
void Generator::race_with_reset() {
  if (!capturing_.empty()) end_capture();
  emit(0, "use", {"c0"});
  emit(0, "trim", {});
  emit(0, "primary", {"c7", "1"});
  emit(0, "alloc", {"a600", std::to_string(favourite_)});
  emit(0, "free", {"a600"});
  emit(0, "use", {"c0"});
  emit(0, "stream", {"s8", "1"});
  work_in_race(0, "s8");
  const std::size_t begin = sequence_.lines.size();
  for (int own = 0; own < static_cast<int>(threads_); ++own) {
    if (own != 1) emit(own, "trim", {});
  }
  emit(1, "pause", {one_of(kPauses)});
  emit(1, "fault", {"sticky", "1", "719"});
  emit(1, "reset", {"1"});
  run_together(begin);
  emit(0, "stream_end", {"s8"});
}

}  // namespace vramscope::differential
