// LiveProcess writes into the live file what the library learns of its process, devices and next
// report. RecoveredProcess is what the tool reads when the process is dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/place.h"
#include "reporter/report/facts.h"
#include "reporter/report/live/live_owner.h"

namespace vramscope {

// Two copies of a value, of which one is complete at every instant. Threads: one writer; a reader
// in the same process may see a mixture.
template <class T>
class TwoCopies {
 public:
  [[nodiscard]] const T& read() const noexcept {
    return copies_[current_.load(std::memory_order_acquire) & 1U];
  }
  // `change` turns a copy of the old value into the new one.
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

// A text in the file.
struct LiveText {
  const char* first = nullptr;
  std::uint64_t bytes = 0;
};
struct LiveTexts {
  const LiveText* first = nullptr;
  std::uint64_t count = 0;
};

// The members of DeviceFacts that change.
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
  std::optional<std::uint64_t> before_bytes = {};
  PageTimes pages = {};
};
struct LiveDevice {
  std::uint16_t index = 0;
  bool unified = false;
  LiveText name, uuid, pci_bus_id, compute_capability;
  TwoCopies<LiveDeviceNumbers> numbers;
};

inline constexpr std::size_t kLongestLivePath = 4096;
struct LiveNextReport {
  std::uint64_t sequence = 1;
  std::array<char, kLongestLivePath> path{};  // absolute; "": longer than any file system accepts
};

struct LiveProcessRoot {
  LiveOwner owner;  // as in the header
  std::uint64_t layout = 0;
  std::int64_t ppid = 0;
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;
  std::int64_t world_size = -1;
  std::int64_t restart = -1;
  std::uint64_t start_time_ns = 0;  // since the epoch
  std::uint64_t wall_ns = 0;        // since the epoch, at the same instant as clock_ns
  std::uint64_t clock_ns = 0;
  std::uint64_t sample_bytes = 0;
  std::int32_t cuda_driver_version = 0;
  std::uint32_t is_simulated = 0;
  LiveText hostname, executable, mode, trace_path, job, launcher;
  LiveTexts arguments, option_names, option_values, function_names;
  std::atomic<std::uint64_t> simulated_launches{0};  // a lower bound
  std::atomic<std::uint64_t> last_ns{0};  // CLOCK_MONOTONIC at the last change of anything here
  TwoCopies<LiveNextReport> next_report;
  std::array<std::atomic<const LiveDevice*>, kMaxDevices> devices{};
};

// What is known before the program's first CUDA call returns.
struct LiveStart {
  ProcessFacts process;  // of device facts: the driver's version, and whether the devices are
                         // simulated
  std::uint64_t sample_bytes = 0;
  std::vector<std::string> function_names;
  std::string trace_path;      // "": the process has no trace
  std::string next_report;     // absolute path
  std::uint64_t clock_ns = 0;  // CLOCK_MONOTONIC at process.report_time_ns
  bool is_locked = false;      // see LiveOwner
};

// The library's side. Before begin(), and without live memory, the other functions do nothing.
// Threads: any, but none in a forked child.
class LiveProcess {
 public:
  // Writes the root. Returns false, without a root, if memory is exhausted. `memory` outlives this
  // object.
  [[nodiscard]] bool begin(LiveMemory& memory, const LiveStart& start) noexcept;

  void add_device(const DeviceFacts& facts, std::uint64_t now_ns) noexcept;
  // `change` changes the numbers of a device that was added. Other devices are ignored.
  template <class F>
  void change_device(std::uint16_t device, std::uint64_t now_ns, F&& change) noexcept {
    if (root_ == nullptr || device >= kMaxDevices || devices_[device] == nullptr) return;
    const SystemLock lock(mutex_);
    devices_[device]->numbers.write(change);
    root_->last_ns.store(now_ns, std::memory_order_relaxed);
  }
  // Threads: one at a time. Takes no lock.
  void set_next_report(std::uint64_t sequence, const std::string& path) noexcept;
  // Stores the path of the last report in place of the next one: see LiveState::reported.
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
  ProcessFacts process;              // report_time_ns: the last change of anything here
  std::vector<DeviceFacts> devices;  // free_bytes_age_ns is the age at the same instant
  std::uint64_t sample_bytes = 0;
  std::vector<std::string> function_names;
  std::string trace_path;  // "": the process had no trace
  std::uint64_t next_sequence = 1;
  std::string next_report;  // absolute path, from the program's options
  LiveOwner owner;
  // One instant by both clocks of that machine: since the epoch, and CLOCK_MONOTONIC.
  std::uint64_t wall_ns = 0;
  std::uint64_t clock_ns = 0;
};

// Reads the root in an image of the file that lies where the header says. Throws std::runtime_error
// with one sentence if there is no root, or one of another version. A damaged image may crash it.
[[nodiscard]] RecoveredProcess recover_process(const LiveHeader& header);

}  // namespace vramscope
