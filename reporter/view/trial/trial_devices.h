// TrialDevices is the allocator's backend in a replay: devices of given capacities that hand out
// memory as a driver does, and count what is asked of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/base/backend.h"
#include "allocator/base/driver_pages.h"
#include "reporter/base/segment.h"
#include "reporter/view/trial/call_costs.h"
#include "reporter/view/trial/granules.h"

namespace vramscope {

// The capacity of a device that no request exhausts. Larger ones are not asked for.
inline constexpr std::uint64_t kMostCapacity = std::uint64_t{1} << 44;  // 16 TiB

// Whether such memory takes up room of a device. Managed memory gives way to other memory.
[[nodiscard]] constexpr bool takes_room(Kind kind) {
  return takes_device_memory(kind) && kind != Kind::managed;
}

// Threads: one.
class TrialDevices final : public Backend {
 public:
  struct Model {
    std::array<std::uint64_t, kMaxDevices> capacity{};  // of each device
    std::uint64_t host_bytes = 0;
    CallCosts costs;
  };
  // `recorded` outlives this object: while the allocator asks for the same as in the recording, it
  // gets the same addresses.
  TrialDevices(const Model& model, const std::vector<SegmentChange>& recorded);
  ~TrialDevices() override;

  // What one device gave.
  struct Use {
    std::uint64_t given = 0;  // bytes, as they were asked for
    std::uint64_t most_given = 0;
    std::uint64_t most_used = 0;  // in whole pages, with what is used and not recorded
  };
  [[nodiscard]] const Use& use(std::uint16_t device) const { return devices_[device].use; }
  // Forgets what was most.
  void restart_peaks();
  // Calls for device and pinned memory, and the time that they would take.
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t calls_ns() const { return calls_ns_; }
  // Whether segments came and went as in the recording so far.
  [[nodiscard]] bool is_as_recorded() const { return is_as_recorded_; }
  [[nodiscard]] bool is_all_as_recorded() const {
    return is_as_recorded_ && next_ == recorded_.size();
  }
  // Is set when a device gave more than ever before; the caller clears it.
  std::optional<std::uint16_t> new_peak = {};
  int captures = 0;  // that are open

  // Memory that only the driver serves. nullopt: there is none left. Kinds that take no device
  // memory always have an address.
  [[nodiscard]] std::optional<Address> take(Place where, std::uint64_t bytes);
  void give(Place where, Address address, std::uint64_t bytes);
  // What chunks of small allocations take beyond whole pages for the sum of these: a sample of what
  // is used and not recorded has it, too.
  [[nodiscard]] std::uint64_t waste(std::uint16_t device) const;
  // Bytes that are used and not recorded. False: the device has no room for them.
  [[nodiscard]] bool set_others(std::uint16_t device, std::uint64_t bytes);
  // The place ended with its segments.
  void end_place(Place where);

  [[nodiscard]] Grant reserve(Place where, std::size_t bytes) noexcept override;
  Reply release(Place where, Address segment) noexcept override;
  [[nodiscard]] Grant reserve_addresses(Place where, std::uint64_t bytes,
                                        std::uint64_t page) noexcept override;
  [[nodiscard]] Grant map(Place where, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept override;
  Reply unmap(Place where, Address address, std::uint64_t bytes,
              std::uint64_t page) noexcept override;
  Reply wait(Place) noexcept override { return waited(); }
  Reply probe(Place) noexcept override { return waited(); }
  [[nodiscard]] bool may_wait(Place) noexcept override { return captures == 0; }
  [[nodiscard]] std::uint64_t total_bytes(Place where) noexcept override;

 private:
  struct Segment {
    Place where;
    std::uint64_t bytes = 0;
    Address granule = 0;  // where it lies on the device
  };
  struct Device {
    std::unique_ptr<simulator::Granules> granules;
    std::uint64_t capacity = 0;
    std::uint64_t others = 0;
    std::uint64_t in_granules = 0;  // bytes, as they were asked for
    PageRounding granule_rounding;  // of these
    std::uint64_t mapped = 0;       // bytes of pages
    std::uint64_t plain = 0;        // bytes of direct memory that does not lie in granules
    PageRounding rounding;          // of that
    Use use;
  };

  [[nodiscard]] Reply waited() const {
    return captures == 0 ? Reply{} : Reply{{Result::forbidden, 0}};
  }
  [[nodiscard]] static std::uint64_t used(const Device& device);
  [[nodiscard]] std::optional<Address> take_granules(Device& device, Place where,
                                                     std::uint64_t bytes);
  static void give_granules(Device& device, Place where, Address granule, std::uint64_t bytes);
  void gave(std::uint16_t device, std::uint64_t bytes);
  void called(std::uint64_t ns) { ++calls_, calls_ns_ += ns; }
  [[nodiscard]] const SegmentChange* next_recorded(SegmentChange::What what, Place where);
  void let_go(const Segment& segment);

  const std::vector<SegmentChange>& recorded_;
  const std::uint64_t host_bytes_;
  const CallCosts costs_;
  const simulator::Placement placement_;
  std::array<Device, kMaxDevices> devices_;
  std::unordered_map<Address, Segment> segments_;  // of device memory
  std::unordered_map<Address, Segment> pinned_;
  std::unordered_map<Address, Address> direct_;  // of the driver's memory: where it lies
  std::size_t next_ = 0;                         // of recorded_
  bool is_as_recorded_ = true;
  Address next_device_;
  Address next_pinned_;
  Address next_reserved_;
  Address next_direct_;
  std::uint64_t calls_ = 0;
  std::uint64_t calls_ns_ = 0;
};

}  // namespace vramscope
