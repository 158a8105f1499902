// The accounts of one pretend GPU: capacity, addresses, faults and a ledger of calls. No bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "allocator/ground/backend.h"
#include "test/simulator/device/granules.h"

namespace vramscope::simulator {

// Numbers of cuda.h, repeated because these files are built without the vendor's headers.
inline constexpr std::int32_t kInvalidValue = 1;  // CUDA_ERROR_INVALID_VALUE
inline constexpr std::int32_t kOutOfMemory = 2;   // CUDA_ERROR_OUT_OF_MEMORY

inline constexpr Address kDeviceBase = 0x7f0000000000;  // golden/README.md, "Backend rule"
inline constexpr Address kPinnedBase = 0x7e0000000000;
inline constexpr Address kReservedBase = 0x600000000000;  // address reservations

enum class Memory : std::uint8_t { device, pinned };

// Other users of the same device, in other processes.
// Threads: any.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  // What this process uses from now on.
  virtual void tell(std::uint64_t used_bytes) noexcept = 0;
  [[nodiscard]] virtual std::uint64_t used_bytes() const noexcept = 0;
};

struct DeviceModel {
  std::uint64_t capacity = std::uint64_t{16} << 30;
  // False: the golden backend rule. Bump pointers in 2 MiB steps, one account of exact bytes for
  // device and pinned memory together.
  // True: as drivers do. Freed addresses come back, small allocations share chunks of 2 MiB, the
  // account is in granules, and pinned memory is somebody else's.
  bool reuse_addresses = false;
  Footprint footprint = {};           // where addresses are reused
  Address device_base = kDeviceBase;  // where device addresses begin; a multiple of 2 MiB
  Neighbours* neighbours = nullptr;   // who take from the same capacity; null: nobody
};

struct Counters {
  std::uint64_t calls = 0;  // allocation calls, refused ones too
  std::uint64_t failed = 0;
  std::uint64_t frees = 0;  // successful releases
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Extent {
  Address start = 0;
  std::uint64_t bytes = 0;  // as asked for
};

// Threads: any.
class SimulatedDevice {
 public:
  explicit SimulatedDevice(DeviceModel model = {});

  // Status codes: 2 for no room or a fault that was asked for, 1 for zero bytes, the sticky code.
  // `owner`: whose chunks a small allocation may lie in, where each context has its own.
  [[nodiscard]] Grant allocate(Memory kind, std::size_t bytes,
                               Granules::Owner owner = kDeviceItself) noexcept;
  // The owner has ended, and nothing of its memory is live.
  void end_owner(Granules::Owner owner) noexcept;
  // Physical memory without an address, in one call, and its end. As allocate() and release().
  [[nodiscard]] Status create(std::size_t bytes) noexcept;
  void destroy(std::size_t bytes) noexcept;
  // Addresses that nothing lies behind; no call that counts.
  [[nodiscard]] Address reserve_addresses(std::size_t bytes) noexcept;
  // A call that is served without the device: counted, and faults hit it.
  [[nodiscard]] Status count_call() noexcept;
  // `address` must be the start of a live allocation, else Result::invalid with code 1. So many of
  // its bytes stay used, kept by the driver.
  [[nodiscard]] Status release(Address address, std::uint64_t left_bytes = 0) noexcept;

  // What the driver keeps for itself from now on: more, or less by what was kept before. False: no
  // room, and nothing changed.
  [[nodiscard]] bool keep(std::uint64_t bytes) noexcept;
  void keep_less(std::uint64_t bytes) noexcept;

  // The k-th following allocation call fails (1: the next). 0 cancels; a new number replaces.
  void fail_call(std::uint64_t k) noexcept;
  // The same for a release: it answers `status` and changes nothing.
  void fail_release(std::uint64_t k, Status status) noexcept;
  // From now on every call answers `code`; 0 heals.
  void set_sticky(std::int32_t code) noexcept;
  // The same, once `calls` further allocation calls have been made; 0: at once.
  void set_sticky_after(std::uint64_t calls, std::int32_t code) noexcept;
  [[nodiscard]] Status health() const noexcept;

  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return model_.capacity; }
  // Without what neighbours use.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept;
  // The live allocation that contains `address`, if any.
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
  std::uint64_t fail_in_ = 0;  // 0: no fault waits
  std::uint64_t fail_release_in_ = 0;
  Status failed_release_;
  std::uint64_t sticky_in_ = 0;  // 0: no sticky error waits
  std::int32_t waiting_sticky_ = 0;
  std::atomic<std::int32_t> sticky_{0};  // read without the lock: every call of the driver asks
};

}  // namespace vramscope::simulator
