// SimulatedBackend is the allocator's Backend on a simulated device, in one process, without CUDA
// (height 1 of the seam).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "allocator/base/backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::simulator {

// Every place shares the one device. `pinned` uses host addresses, all other kinds use device
// addresses. Threads: any; hooks are set before the threads start. The device outlives the backend.
class SimulatedBackend final : public Backend {
 public:
  explicit SimulatedBackend(SimulatedDevice& device) : device_(device) {}

  [[nodiscard]] Grant reserve(Place where, std::size_t bytes) noexcept override;
  // A segment that came from another place is invalid, too.
  Reply release(Place where, Address segment) noexcept override;
  [[nodiscard]] Grant reserve_addresses(Place where, std::uint64_t bytes,
                                        std::uint64_t page) noexcept override;
  [[nodiscard]] Grant map(Place where, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept override;
  Reply unmap(Place where, Address address, std::uint64_t bytes,
              std::uint64_t page) noexcept override;
  void release_addresses(Place where, Address address, std::uint64_t bytes) noexcept override;
  Reply wait(Place where) noexcept override;
  Reply probe(Place where) noexcept override;
  [[nodiscard]] bool may_wait(Place where) noexcept override;
  [[nodiscard]] std::uint64_t total_bytes(Place where) noexcept override;

  void set_may_wait(bool may_wait) noexcept { may_wait_ = may_wait; }
  // Makes the next wait discover a fault: that wait and every later call return `code`. 0 cancels
  // it.
  void fail_wait(std::int32_t code) noexcept { fail_wait_ = code; }
  // The hook runs at the start of each release, before anything changes. It may block, as a slow
  // driver does.
  void on_release(std::function<void(Place, Address)> hook) { on_release_ = std::move(hook); }
  // Set the same kind of hook for reserve and wait.
  void on_reserve(std::function<void(Place, std::size_t)> hook) { on_reserve_ = std::move(hook); }
  void on_wait(std::function<void(Place)> hook) { on_wait_ = std::move(hook); }
  // Sets the virtual time that every reserve, release and wait reports; default 0.
  void set_call_ns(std::uint64_t ns) noexcept { call_ns_ = ns; }

  // For memory in pages: whether the device has it, the longest range of addresses that it
  // reserves, and the result of every following map or unmap, to simulate failures other than lack
  // of room.
  void set_has_pages(bool has_pages) noexcept { has_pages_ = has_pages; }
  void set_longest_range(std::uint64_t bytes) noexcept { longest_range_ = bytes; }
  void fail_map(Status status) noexcept { map_status_ = status; }
  void fail_unmap(Status status) noexcept { unmap_status_ = status; }
  // The hook runs at the start of each map and unmap.
  void on_map(std::function<void(Place, Address)> hook) { on_map_ = std::move(hook); }
  [[nodiscard]] std::size_t reserved_ranges() const;
  [[nodiscard]] std::size_t mapped_pages() const;
  // Returns how often the allocator broke the backend's contract: pages mapped twice or outside of
  // ranges, unmapped or released wrongly.
  [[nodiscard]] std::size_t misuses() const noexcept { return misuses_; }

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
  std::function<void(Place, Address)> on_map_;
  std::atomic<bool> has_pages_{true};
  std::atomic<std::uint64_t> longest_range_{~std::uint64_t{0}};
  std::atomic<Status> map_status_{Status{}};
  std::atomic<Status> unmap_status_{Status{}};
  std::atomic<std::size_t> misuses_{0};
  mutable std::mutex pages_mutex_;           // guards the two below
  std::map<Address, std::uint64_t> ranges_;  // bytes
  std::map<Address, std::uint64_t> mapped_;  // bytes of the page there
};

}  // namespace vramscope::simulator
