// A process of random calls on an allocator in live memory, which keeps a log of its own and dies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "allocator/base/live_memory.h"
#include "allocator/caching_allocator.h"
#include "test/allocator/recovered_judge.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::test {

// In the process that is to die.
class RecordedProgram {
 public:
  RecordedProgram(ProgramLog& log, LiveMemory& memory, Limits limits, std::uint64_t seed);
  void step();
  void write_snapshot();
  [[nodiscard]] CachingAllocator& allocator() { return allocator_; }

 private:
  void call();
  void other_call();
  void take(std::uint32_t slot);
  void give_up(std::uint32_t slot);
  void end_place();
  [[nodiscard]] std::uint64_t random_bytes();
  [[nodiscard]] std::uint64_t below(std::uint64_t end) { return random_() % end; }

  ProgramLog& log_;
  simulator::SimulatedDevice device_;
  simulator::SimulatedBackend backend_;
  CachingAllocator allocator_;
  std::mt19937_64 random_;
  Address next_direct_ = 0x500000000000;
};

// A process that runs such a program, and the file that it leaves.
class DyingProcess {
 public:
  explicit DyingProcess(Limits limits);
  ~DyingProcess();
  DyingProcess(const DyingProcess&) = delete;
  DyingProcess& operator=(const DyingProcess&) = delete;

  // A child with an empty file runs `program` and ends without a word.
  pid_t start(std::uint64_t seed, const std::function<void(RecordedProgram&)>& program);
  // Kills it and waits for its end.
  static void end(pid_t child);
  // After each instruction of `calls` calls, each of them after `between` others, the file says
  // what it must: tells what it says instead; empty: nothing, or there is no ptrace here.
  [[nodiscard]] std::string step(std::uint64_t seed, std::uint64_t calls, std::uint64_t between);
  // The same after a kill so many nanoseconds after the start.
  [[nodiscard]] std::string kill_after(std::uint64_t seed, std::uint64_t ns);

  [[nodiscard]] std::string judge(LiveImage& image) const;
  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] const ProgramLog& log() const { return *log_; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }

 private:
  [[nodiscard]] std::string step_call(pid_t child, LiveImage& image, int& status);
  [[nodiscard]] bool log_has_changed();

  Limits limits_;
  std::string path_ = "/dev/shm/vramscope-recovery-test-XXXXXX";
  int file_;
  ProgramLog* log_;
  std::uint64_t instructions_ = 0;
  std::string seen_log_;  // what log_has_changed last saw
};

struct RecoveryMode {
  const char* name;
  Limits limits;
};
inline constexpr RecoveryMode kRecoveryModes[] = {
    {"native_safe", {}},
    {"native_safe_at_reuse", {.reuse = ReuseTime::at_reuse}},
    {"pytorch", {.policy = Policy::pytorch}},
    {"pytorch_at_reuse", {.policy = Policy::pytorch, .reuse = ReuseTime::at_reuse}},
    {"oversize", {.policy = Policy::pytorch, .max_split_size = 3 << 20}},
    {"expandable", {.policy = Policy::pytorch, .expandable_segments = true}},
    {"growing",
     {.policy = Policy::pytorch, .growing_segments = true, .reuse = ReuseTime::at_reuse}},
};

}  // namespace vramscope::test
