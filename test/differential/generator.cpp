// The frame of each sequence, and its random choices.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/generator.h"

#include <algorithm>

namespace vramscope::differential {
namespace {

constexpr std::uint64_t kOneThatRaces = 3;  // of so many seeds
// Around the steps of drivers and allocators: alignment, classes of size, segments.
constexpr std::uint64_t kEdges[] = {1,
                                    2,
                                    7,
                                    255,
                                    256,
                                    257,
                                    511,
                                    512,
                                    513,
                                    1023,
                                    1024,
                                    1025,
                                    4095,
                                    4096,
                                    4097,
                                    65536,
                                    kMiB - 1,
                                    kMiB,
                                    kMiB + 1,
                                    2 * kMiB - 1,
                                    2 * kMiB,
                                    2 * kMiB + 1,
                                    10 * kMiB - 1,
                                    10 * kMiB,
                                    10 * kMiB + 1,
                                    20 * kMiB,
                                    20 * kMiB + 1,
                                    33 * kMiB};

}  // namespace

// How the driver packs small allocations: as an H200's, or as others may, so that each seed has its
// own. Chosen apart from all else: the sequence is the same with each.
const char* Generator::packing_of(std::uint64_t seed) {
  constexpr const char* kPackings[] = {"", "small_fit=first", "chunks_of=device",
                                       "small_fit=first,chunks_of=device",
                                       "empty_chunks=one_kept,chunks_of=device"};
  return kPackings[seed % std::size(kPackings)];
}

Sequence generate(std::uint64_t seed, std::size_t calls) { return Generator(seed, calls).make(); }

Generator::Generator(std::uint64_t seed, std::size_t calls)
    : seed_(seed),
      random_(seed * 0x9e3779b97f4a7c15U + 1),
      calls_(calls),
      races_(seed % kOneThatRaces == 0) {
  sequence_.comments.push_back("seed " + std::to_string(seed));
}

std::uint64_t Generator::size() {
  const std::size_t kind = below(10);
  if (kind < 4) return favourite_;
  if (kind < 8) return one_of(kEdges);
  return 1 + below(kind == 8 ? 4 * kMiB : 8192);
}

std::string Generator::offset() {
  constexpr const char* kOffsets[] = {"0", "1", "8", "255", "512", "last", "end"};
  return one_of(kOffsets);
}

Way Generator::way() {
  if (chance(60)) return Way::linked;
  return static_cast<Way>(below(std::size(kWays)));
}

std::string Generator::stream_or_default() {
  if (streams_.empty() || chance(15)) return "-";
  return pick(streams_);
}

void Generator::emit(int thread, std::string verb, std::vector<std::string> words, Way way) {
  Line line;
  line.thread = thread;
  line.verb = std::move(verb);
  line.words = std::move(words);
  line.way = way;
  sequence_.lines.push_back(std::move(line));
}

// Devices, threads and contexts, and which kinds of calls this sequence likes.
void Generator::begin() {
  threads_ = chance(50) ? 1 : 2 + below(3);
  devices_ = chance(70) ? 1 : 2;
  shares_ = chance(12) && !races_;
  if (races_) threads_ = 3 + below(3), devices_ = 2;
  frees_in_order_ = chance(15) ? 15 : 0;
  slots_ = 4 + below(16);
  favourite_ = one_of(kEdges);
  std::string simulator = devices_ > 1 ? "devices=2" : "";
  const auto add = [&](const std::string& setting) {
    simulator += (simulator.empty() ? "" : ",") + setting;
  };
  constexpr const char* kDelays[] = {"delay_us=100", "delay_us=300", "delay_us=1000"};
  if (races_) {
    delay_us_ = std::stoul(std::string(one_of(kDelays)).substr(9));
    add("delay_us=" + std::to_string(delay_us_));
  } else if (chance(45)) {
    add(one_of(kDelays));
  }
  if (chance(10)) add("slow_free_us=50");
  if (races_ && chance(30)) add("slow_capture_us=300");
  if (!races_ && chance(8))
    add(chance(50) ? "capacity=64MiB,context_bytes=0" : "capacity=256MiB,context_bytes=0");
  constexpr const char* kDrivers[] = {"driver_version=11080", "driver_version=12000",
                                      "driver_version=12040"};
  if (chance(10)) add(one_of(kDrivers));
  if (shares_) add("shared");
  if (const char* const packing = packing_of(seed_); *packing != '\0') add(packing);
  sequence_.simulator = simulator;
  if (chance(5)) emit(0, "alloc", {"a0", "512"});  // too early
  emit(0, "init", {}, chance(30) ? Way::proc : Way::linked);
  if (chance(5)) emit(0, "alloc", {"a0", "512"});  // without a context
  emit(0, "primary", {"c0", "0"}, way());
  contexts_["c0"] = 0;
  for (std::size_t i = 1; i < threads_; ++i) emit(static_cast<int>(i), "use", {"c0"});
  if (races_) chance(70) ? race() : race_with_pending();
  if (!shares_) return;
  for (const char* verb : {"init", "primary"}) {
    Line line;
    line.process = 1;
    line.verb = verb;
    if (line.verb == "primary") line.words = {"c0", "0"};
    sequence_.lines.push_back(line);
  }
}

void Generator::choose_actions() {
  const auto add = [&](unsigned weight, void (Generator::*emit)()) {
    if (weight == 0) return;
    actions_.push_back({weight, emit});
    all_weights_ += weight;
  };
  add(20, &Generator::allocate);
  add(16, &Generator::free_memory);
  add(2 + static_cast<unsigned>(below(4)), &Generator::free_wrongly);
  add(8, &Generator::query);
  add(4, &Generator::check);
  add(1, &Generator::refuse);
  if (chance(70)) add(10, &Generator::write);
  if (chance(60)) add(8, &Generator::copy);
  if (chance(60)) add(8, &Generator::copy_and_free);
  if (chance(75)) add(6, &Generator::stream);
  if (chance(75)) add(5, &Generator::wait);
  if (chance(45)) add(8, &Generator::pin), add(7, &Generator::unpin);
  if (chance(40)) add(6, &Generator::register_host);
  if (chance(40)) add(4, &Generator::ask_host);
  if (chance(35)) add(4, &Generator::context), add(4, &Generator::use_context);
  if (devices_ > 1 && chance(60)) add(5, &Generator::peers);
  if (chance(20)) add(2, &Generator::reset);
  if (chance(30)) add(7, &Generator::capture), add(7, &Generator::graph);
  if (chance(30)) add(8, &Generator::pool);
  if (chance(25)) add(8, &Generator::virtual_memory);
  if (chance(30)) add(6, &Generator::allocate_other_kinds);
  if (chance(50)) add(2, &Generator::report);
  if (chance(20)) add(1, &Generator::child);
  if (threads_ > 1 && chance(60)) add(4, &Generator::together);
  if (races_) add(4, &Generator::race), add(2, &Generator::race_with_pending);
  if (races_) add(2, &Generator::race_of_own_streams);
  if (races_) add(2, &Generator::race_with_begin);
  if (chance(15)) add(2, &Generator::fault);
  if (chance(25)) add(2, &Generator::trim);
  if (shares_) add(14, &Generator::share);
}

// Looks at what is left, sometimes after the device broke, and ends in some way.
void Generator::finish() {
  if (races_ && chance(40)) race_with_reset();
  if (chance(6)) {
    emit(0, "fault", {"sticky", "0", chance(50) ? "700" : "719"});
    emit(0, "sync_context", {});
    for (int i = 0; i < 6; ++i)
      (this->*(chance(50) ? &Generator::free_memory : &Generator::query))();
    emit(0, "alloc", {"a0", std::to_string(favourite_)});
  } else {
    for (const std::string& memory : std::set<std::string>(written_)) {
      emit(0, "check", {memory, chance(50) ? "head" : "tail"});
    }
  }
  if (chance(40)) {
    for (const std::string& memory : std::set<std::string>(memories_)) emit("free", {memory});
    if (!shares_) emit(0, "info", {});
  }
  if (chance(30)) emit(0, "report", {});
  constexpr const char* kEnds[] = {"return", "exit", "_exit", "_Exit", "quick_exit",
                                   "abort",  "kill", "exec",  "exit"};
  emit(chance(80) ? 0 : thread(), "end", {one_of(kEnds)});
  if (sequence_.lines.back().words[0] == "return") sequence_.lines.back().thread = 0;
}

Sequence Generator::make() {
  begin();
  choose_actions();
  const std::size_t stop = chance(10) ? below(calls_) : calls_;  // some end early
  while (sequence_.lines.size() < stop && !ended_) {
    std::size_t at = below(all_weights_);
    for (const Action& action : actions_) {
      if (at < action.weight) {
        (this->*action.emit)();
        break;
      }
      at -= action.weight;
    }
  }
  if (!ended_) finish();
  return std::move(sequence_);
}

}  // namespace vramscope::differential
