// LiveProcess is what a live file says of its process, its devices and its next report: written by
// the library as it comes to know it, read when the process is dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ground/capability.h"
#include "allocator/ground/live_memory.h"
#include "allocator/ground/place.h"
#include "reporter/report/facts.h"
#include "reporter/report/live/live_owner.h"

namespace vramscope {

// Two copies of a value, of which one is whole at every instant. Threads: one writer; a reader of
// the same process may see a mixture.
template <class T>
class TwoCopies {
 public:
  [[nodiscard]] const T& read() const noexcept {
    return copies_[current_.load(std::memory_order_acquire) & 1U];
  }
  // `change` makes the new value of the old one.
  template <class F>
  void write(F&& change) noexcept {
    const std::uint32_t now = current_.load(std::memory_order_relaxed) & 1U;
    T& next = copies_[1 - now];
    next = copies_[now];
    change(next);
    current_.store(1 - now, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t> current_{0};
  std::array<T, 2> copies_{};
};

// What lies in the file.
struct LiveText {
  const char* first = nullptr;
  std::uint64_t bytes = 0;
};
struct LiveTexts {
  const LiveText* first = nullptr;
  std::uint64_t count = 0;
};

// Of DeviceFacts what changes.
struct LiveDeviceNumbers {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t free_taken_ns = 0;  // CLOCK_MONOTONIC; 0: never
  std::uint64_t limit_bytes = 0;
  std::uint64_t limit_refusals = 0;
  std::uint64_t outside_bytes = 0;
  std::uint64_t context_bytes = 0;
  std::uint64_t module_bytes = 0;
  MeasuredBy measure = MeasuredBy::none;
  std::uint64_t exported_bytes = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t pool_pending_bytes = 0;
  PageTimes pages = {};
};
struct LiveDevice {
  std::uint16_t index = 0;
  LiveText name, uuid, pci_bus_id, compute_capability;
  TwoCopies<LiveDeviceNumbers> numbers;
};

inline constexpr std::size_t kLongestLivePath = 4096;
struct LiveNextReport {
  std::uint64_t sequence = 1;
  std::array<char, kLongestLivePath> path{};  // absolute; "": longer than any file system takes
};

struct LiveProcessRoot {
  LiveOwner owner;  // as the header has it
  std::uint64_t layout = 0;
  std::int64_t ppid = 0;
  std::int64_t rank = -1;
  std::uint64_t start_time_ns = 0;  // since the epoch
  std::uint64_t wall_ns = 0;        // since the epoch, and CLOCK_MONOTONIC at the same instant
  std::uint64_t clock_ns = 0;
  std::uint64_t sample_bytes = 0;
  std::int32_t cuda_driver_version = 0;
  std::uint32_t is_simulated = 0;
  LiveText hostname, executable, mode, trace_path;
  LiveTexts arguments, option_names, option_values, function_names;
  std::atomic<std::uint64_t> simulated_launches{0};  // at least
  std::atomic<std::uint64_t> last_ns{0};  // CLOCK_MONOTONIC when anything here changed last
  TwoCopies<LiveNextReport> next_report;
  std::array<std::atomic<const LiveDevice*>, kMaxDevices> devices{};
};

// What is known before the program's first call of CUDA returns.
struct LiveStart {
  ProcessFacts process;  // of the devices: the driver's version, and whether they are simulated
  std::uint64_t sample_bytes = 0;
  std::vector<std::string> function_names;
  std::string trace_path;      // "": there is no trace
  std::string next_report;     // absolute path
  std::uint64_t clock_ns = 0;  // CLOCK_MONOTONIC at process.report_time_ns
  bool is_locked = false;      // see LiveOwner
};

// The library's side. Before begin(), and where nothing is live, the rest does nothing.
// Threads: any, none in a forked child.
class LiveProcess {
 public:
  // False: out of memory, and there is no root. `memory` outlives it.
  [[nodiscard]] bool begin(LiveMemory& memory, const LiveStart& start) noexcept;

  void add_device(const DeviceFacts& facts, std::uint64_t now_ns) noexcept;
  // `change` takes the numbers of a device that was added; of others nothing is kept.
  template <class F>
  void change_device(std::uint16_t device, std::uint64_t now_ns, F&& change) noexcept {
    if (root_ == nullptr || device >= kMaxDevices || devices_[device] == nullptr) return;
    const SystemLock lock(mutex_);
    devices_[device]->numbers.write(change);
    root_->last_ns.store(now_ns, std::memory_order_relaxed);
  }
  // Threads: one at a time. It takes no lock.
  void set_next_report(std::uint64_t sequence, const std::string& path) noexcept;
  // What was written, in the place of what comes next: see LiveState::reported.
  void set_last_report(const std::string& path) noexcept;
  void set_simulated_launches(std::uint64_t launches) noexcept;

 private:
  [[nodiscard]] bool keep(LiveText& to, const std::string& text) noexcept;
  [[nodiscard]] bool keep(LiveTexts& to, const std::vector<std::string>& texts) noexcept;
  [[nodiscard]] bool fill(LiveProcessRoot& root, const LiveStart& start) noexcept;

  LiveMemory* memory_ = nullptr;
  LiveProcessRoot* root_ = nullptr;
  SystemMutex mutex_;
  std::array<LiveDevice*, kMaxDevices> devices_{};
};

// The tool's side.
struct RecoveredProcess {
  ProcessFacts process;              // report_time_ns: when anything of this changed last
  std::vector<DeviceFacts> devices;  // the age of free_bytes is that at the same instant
  std::uint64_t sample_bytes = 0;
  std::vector<std::string> function_names;
  std::string trace_path;  // "": there was none
  std::uint64_t next_sequence = 1;
  std::string next_report;  // absolute path, as the program's options say
  LiveOwner owner;
  // An instant of both clocks of that machine: since the epoch, and CLOCK_MONOTONIC.
  std::uint64_t wall_ns = 0;
  std::uint64_t clock_ns = 0;
};

// Of a header in an image of the file, that lies where the header says. Throws std::runtime_error
// with one sentence when there is nothing, or something of another version. A damaged image may
// crash it.
[[nodiscard]] RecoveredProcess recover_process(const LiveHeader& header);

}  // namespace vramscope
