// SimulatedDevice is the accounts of one simulated GPU: capacity, addresses, faults and a ledger of
// calls, but no bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "allocator/base/backend.h"
#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

// Numbers of cuda.h, repeated because these files are built without NVIDIA's headers.
inline constexpr std::int32_t kInvalidValue = 1;  // CUDA_ERROR_INVALID_VALUE
inline constexpr std::int32_t kOutOfMemory = 2;   // CUDA_ERROR_OUT_OF_MEMORY

inline constexpr Address kDeviceBase = 0x7f0000000000;  // golden/README.md, "Backend rule"
inline constexpr Address kPinnedBase = 0x7e0000000000;
inline constexpr Address kReservedBase = 0x600000000000;  // address reservations

enum class Memory : std::uint8_t { device, pinned };

// Other processes that use the same device. Threads: any.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  // Tells what this process uses from now on.
  virtual void tell(std::uint64_t used_bytes) noexcept = 0;
  [[nodiscard]] virtual std::uint64_t used_bytes() const noexcept = 0;
};

struct DeviceModel {
  std::uint64_t capacity = std::uint64_t{16} << 30;
  // False: the golden backend rule. Addresses grow in steps of 2 MiB, and one account has the exact
  // bytes of device and pinned memory together. True: as drivers do. Freed addresses are reused,
  // small allocations share chunks of 2 MiB, the account is in granules, and pinned memory does not
  // count.
  bool reuse_addresses = false;
  Footprint footprint = {};           // only if addresses are reused
  Address device_base = kDeviceBase;  // where device addresses begin; a multiple of 2 MiB
  Neighbours* neighbours = nullptr;   // processes that use the same capacity; null: none
};

struct Counters {
  std::uint64_t calls = 0;  // allocation calls, including refused ones
  std::uint64_t failed = 0;
  std::uint64_t frees = 0;  // successful releases
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Extent {
  Address start = 0;
  std::uint64_t bytes = 0;  // as requested
};

// Threads: any.
class SimulatedDevice {
 public:
  explicit SimulatedDevice(DeviceModel model = {});

  // Status codes: 2 for lack of room or a requested fault, 1 for zero bytes, or the sticky code.
  // owner: if each context has its own chunks, the context in whose chunks a small allocation may
  // lie.
  [[nodiscard]] Grant allocate(Memory kind, std::size_t bytes,
                               Granules::Owner owner = kDeviceItself) noexcept;
  // Notes that the owner has ended and that none of its memory is live.
  void end_owner(Granules::Owner owner) noexcept;
  // Makes and ends physical memory without an address, in one call, like allocate() and release().
  [[nodiscard]] Status create(std::size_t bytes) noexcept;
  void destroy(std::size_t bytes) noexcept;
  // Reserves addresses without memory. The call is not counted.
  [[nodiscard]] Address reserve_addresses(std::size_t bytes) noexcept;
  // Counts a call that is served without the device. Faults apply to it.
  [[nodiscard]] Status count_call() noexcept;
  // `address` must be the start of a live allocation, else the result is Result::invalid with code
  // 1. left_bytes of it stay used, kept by the driver.
  [[nodiscard]] Status release(Address address, std::uint64_t left_bytes = 0) noexcept;

  // keep() makes the driver keep more bytes for itself, keep_less() fewer. keep() returns false
  // without a change if there is no room.
  [[nodiscard]] bool keep(std::uint64_t bytes) noexcept;
  void keep_less(std::uint64_t bytes) noexcept;

  // Makes the k-th following allocation call fail (1: the next). 0 cancels; a new number replaces
  // the old one.
  void fail_call(std::uint64_t k) noexcept;
  // Does the same for a release, which returns `status` and changes nothing.
  void fail_release(std::uint64_t k, Status status) noexcept;
  // Makes every call return `code` from now on; 0 cancels.
  void set_sticky(std::int32_t code) noexcept;
  // Does the same after `calls` further allocation calls; 0: at once.
  void set_sticky_after(std::uint64_t calls, std::int32_t code) noexcept;
  [[nodiscard]] Status health() const noexcept;

  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return model_.capacity; }
  // Returns free memory without what neighbours use.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept;
  // Returns the live allocation that contains `address`, if any.
  [[nodiscard]] std::optional<Extent> find(Address address) const noexcept;

 private:
  struct Live {
    std::uint64_t bytes;
    Memory kind;
  };

  Grant refuse(Status status) noexcept;
  Grant allocate_locked(Memory kind, std::size_t bytes, Granules::Owner owner);
  bool fault_is_due() noexcept;
  std::uint64_t used() const noexcept;
  std::optional<Address> place(Memory kind, std::size_t bytes, Granules::Owner owner);
  std::optional<Address> place_beside_neighbours(Memory kind, std::size_t bytes,
                                                 Granules::Owner owner);
  void take_back(Memory kind, Address address, std::size_t bytes);

  const DeviceModel model_;
  mutable std::mutex mutex_;  // guards everything below
  std::map<Address, Live> live_;
  std::uint64_t kept_ = 0;  // by the driver
  Granules granules_;       // used only when addresses are reused
  Address next_device_;
  Address next_pinned_ = kPinnedBase;
  Address next_reserved_ = kReservedBase;
  Counters counters_;
  std::uint64_t fail_in_ = 0;  // 0: no fault is planned
  std::uint64_t fail_release_in_ = 0;
  Status failed_release_;
  std::uint64_t sticky_in_ = 0;  // 0: no sticky error is planned
  std::int32_t waiting_sticky_ = 0;
  std::atomic<std::int32_t> sticky_{0};  // read without the lock, since every call of the driver
                                         // asks
};

}  // namespace vramscope::simulator
