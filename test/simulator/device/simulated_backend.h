// Height 1 of the seam: the allocator's Backend on a simulated device, in one process, no CUDA.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "allocator/backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::simulator {

// Every place shares the one device; `pinned` takes host addresses, all other kinds device ones.
// Threads: any; hooks are set before the threads start. The device outlives the backend.
class SimulatedBackend final : public Backend {
 public:
  explicit SimulatedBackend(SimulatedDevice& device) : device_(device) {}

  [[nodiscard]] Grant reserve(Place where, std::size_t bytes) noexcept override;
  // Also invalid: a segment that came from another place.
  Reply release(Place where, Address segment) noexcept override;
  Reply wait(Place where) noexcept override;
  Reply probe(Place where) noexcept override;
  [[nodiscard]] bool may_wait(Place where) noexcept override;
  [[nodiscard]] std::uint64_t total_bytes(Place where) noexcept override;

  void set_may_wait(bool may_wait) noexcept { may_wait_ = may_wait; }
  // The next wait discovers the fault: it and every later call answers `code`. 0 cancels.
  void fail_wait(std::int32_t code) noexcept { fail_wait_ = code; }
  // Runs at the start of each release, before anything changed; may block, as a slow driver does.
  void on_release(std::function<void(Place, Address)> hook) { on_release_ = std::move(hook); }
  // The same for reserve and wait.
  void on_reserve(std::function<void(Place, std::size_t)> hook) { on_reserve_ = std::move(hook); }
  void on_wait(std::function<void(Place)> hook) { on_wait_ = std::move(hook); }
  // Virtual time that every reserve, release and wait reports; default 0.
  void set_call_ns(std::uint64_t ns) noexcept { call_ns_ = ns; }

  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_; }
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_; }

 private:
  Status release_from(Place where, Address segment) noexcept;

  SimulatedDevice& device_;
  std::function<void(Place, Address)> on_release_;
  std::function<void(Place, std::size_t)> on_reserve_;
  std::function<void(Place)> on_wait_;
  std::atomic<bool> may_wait_{true};
  std::atomic<std::int32_t> fail_wait_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> probes_{0};
  std::atomic<std::uint64_t> call_ns_{0};
  std::mutex mutex_;  // guards origin_
  std::map<Address, Place> origin_;
};

}  // namespace vramscope::simulator
