// SharedUse says how much of a device each process uses, for processes that share one
// (VRAMSCOPE_SIM=shared=…).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "test/simulator/device/simulated_device.h"

namespace vramscope::simulator {

// A small file that all of them map, with one row for each. A row whose process has ended, or has
// executed another program, counts as nothing and is reused, so no process needs to sign off.
// Threads: any.
class SharedUse {
 public:
  static constexpr int kDevices = 16;
  static constexpr int kProcesses = 256;

  // `name` without a slash lies in /dev/shm, per user; with a slash it is a path. A file with other
  // content is not changed.
  explicit SharedUse(const std::string& name);
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;
  ~SharedUse();

  // Returns false if no row of such a file could be had; then no other function may be called.
  [[nodiscard]] bool ok() const { return mine_ != nullptr; }
  // Returns a number that is equal in all processes of one file, and different for other files;
  // never 0.
  [[nodiscard]] std::uint64_t identity() const { return identity_; }
  void tell(int device, std::uint64_t bytes) { mine_->bytes[device].store(bytes); }
  [[nodiscard]] std::uint64_t used_by_others(int device) const;
  // Calls visit(process, bytes) for each other process.
  void each_other(int device, const std::function<void(std::uint32_t, std::uint64_t)>& visit) const;

 private:
  struct Row {
    std::atomic<std::uint64_t> process;  // pid; 0: the row is unused
    std::atomic<std::uint64_t> bytes[kDevices];
  };
  struct Table {
    std::atomic<std::uint64_t> mark;
    Row rows[kProcesses];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Table* map(const std::string& path);
  [[nodiscard]] Row* claim(std::uint64_t process);

  std::uint64_t identity_ = 0;
  Table* table_ = nullptr;
  Row* mine_ = nullptr;
};

// Returns a UUID of plain text and numbers: recognisable in reports, different for each device and
// for each set of processes that share one. `use`: null if the device belongs to this process
// alone.
[[nodiscard]] std::array<unsigned char, 16> uuid_of(const SharedUse* use, int device);

// One device of the table, as the device's accounts see it.
class SharedDevice : public Neighbours {
 public:
  SharedDevice(SharedUse& use, int device) : use_(use), device_(device) {}

  void tell(std::uint64_t used_bytes) noexcept override { use_.tell(device_, used_bytes); }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept override {
    return use_.used_by_others(device_);
  }

 private:
  SharedUse& use_;
  const int device_;
};

}  // namespace vramscope::simulator
