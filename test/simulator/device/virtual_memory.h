// VirtualMemory holds reserved addresses, handles of physical memory, and their mappings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "allocator/base/place.h"
#include "test/simulator/device/physical_memory.h"
#include "test/simulator/device/vendor.h"
#include "test/simulator/device/window.h"

namespace vramscope::simulator {

// What is known of a reserved address.
struct Reserved {
  Address start = 0;  // of the reservation
  std::uint64_t bytes = 0;
  std::shared_ptr<const PhysicalMemory> memory;  // null: not mapped
  unsigned access = 0;                           // of the device that was asked about
};

// Sizes and addresses of mappings are multiples of 2 MiB, which callers have checked. Errors are
// those of the entry points after which the functions are named. Threads: any.
class VirtualMemory {
 public:
  using Handle = CUmemGenericAllocationHandle;

  CUresult reserve(std::uint64_t bytes, std::uint64_t alignment, Address hint, Address* start);
  CUresult free(Address start, std::uint64_t bytes);

  // Returns a new handle with one reference.
  Handle add(std::shared_ptr<PhysicalMemory> memory);
  [[nodiscard]] std::shared_ptr<PhysicalMemory> find(Handle handle) const;
  CUresult release(Handle handle);
  // Adds a reference to the handle that was mapped here.
  CUresult retain(Address inside, Handle* handle);

  CUresult map(Address start, std::uint64_t bytes, Handle handle);
  CUresult unmap(Address start, std::uint64_t bytes);
  CUresult set_access(Address start, std::uint64_t bytes, int device, unsigned flags);
  // Returns whether the range is mapped without holes, and the device has this access to all of it.
  [[nodiscard]] bool allows(Address start, std::uint64_t bytes, int device, unsigned flags) const;
  // Returns whether the range consists of whole mappings.
  [[nodiscard]] bool is_whole(Address start, std::uint64_t bytes) const;
  [[nodiscard]] std::optional<Reserved> describe(Address inside, int device) const;

 private:
  // The memory of a handle. Mappings also hold it, so releasing the handle does not end it.
  struct Named {
    Handle handle;
    std::uint64_t references;
    std::shared_ptr<PhysicalMemory> memory;
  };
  struct Mapping {
    std::uint64_t bytes;
    std::shared_ptr<Named> named;
    std::map<int, unsigned> access;  // by device; no entry: none
  };
  using Mappings = std::map<Address, Mapping>;

  [[nodiscard]] std::shared_ptr<Window> reservation_of(Address inside, std::uint64_t bytes) const;
  [[nodiscard]] Mappings::const_iterator mapping_of(Address inside) const;
  [[nodiscard]] bool touches_mapping(Address start, std::uint64_t bytes) const;
  [[nodiscard]] bool is_whole_locked(Address start, std::uint64_t bytes) const;

  mutable std::mutex mutex_;  // guards everything below
  std::map<Address, std::shared_ptr<Window>> reservations_;
  std::map<Handle, std::shared_ptr<Named>> handles_;  // with references
  Mappings mappings_;
  Handle next_handle_ = 0x1000;  // numbers are never reused, so a stale handle is never a live one
};

VirtualMemory& virtual_memory();

}  // namespace vramscope::simulator
