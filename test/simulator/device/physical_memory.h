// Memory without an address: what cuMemCreate makes and file descriptors carry to other processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "allocator/ground/place.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Lives as long as a handle or a mapping of this process refers to it; then its device has the
// bytes again, unless others have imported it: once these have let go. A descriptor that nobody
// has imported holds the bytes, but not their place on the device.
// Threads: any.
class PhysicalMemory {
 public:
  struct Made {
    CUresult result = CUDA_SUCCESS;
    std::shared_ptr<PhysicalMemory> memory;
  };

  // `bytes` is a multiple of 2 MiB, `properties` name a device that exists.
  [[nodiscard]] static Made create(const CUmemAllocationProp& properties, std::uint64_t bytes);
  // Of a descriptor that `export_file` made, here or elsewhere; it stays the caller's.
  [[nodiscard]] static Made import(int file);

  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory();

  [[nodiscard]] const CUmemAllocationProp& properties() const { return properties_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }  // unique in the process
  [[nodiscard]] const FilePlace& place() const { return place_; }
  // A new descriptor of the memory, the caller's to close; negative when there is none.
  [[nodiscard]] int export_file() const;

 private:
  PhysicalMemory(const CUmemAllocationProp& properties, std::uint64_t bytes);
  [[nodiscard]] bool make_file();
  void leave_to_importers() const;

  const CUmemAllocationProp properties_;
  const std::uint64_t bytes_;
  const std::uint64_t id_;
  Address charged_ = 0;  // our share of the device's addresses; 0: another process has it
  bool has_own_file_ = false;
  FilePlace place_;
};

}  // namespace vramscope::simulator
