// PhysicalMemory is memory without an address: cuMemCreate makes it, and file descriptors carry it
// to other processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "allocator/base/place.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Lives as long as a handle or a mapping of this process refers to it. Then the device gets the
// bytes back, or, if other processes have imported it, when they have closed it. A descriptor that
// nobody has imported keeps the bytes, but not their place on the device. Threads: any.
class PhysicalMemory {
 public:
  struct Made {
    CUresult result = CUDA_SUCCESS;
    std::shared_ptr<PhysicalMemory> memory;
  };

  // `bytes` is a multiple of 2 MiB, and `properties` name an existing device.
  [[nodiscard]] static Made create(const CUmemAllocationProp& properties, std::uint64_t bytes);
  // Imports a descriptor that `export_file` made, here or elsewhere. The caller keeps the
  // descriptor.
  [[nodiscard]] static Made import(int file);

  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory();

  [[nodiscard]] const CUmemAllocationProp& properties() const { return properties_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }  // unique in the process
  [[nodiscard]] const FilePlace& place() const { return place_; }
  // Returns a new descriptor of the memory, which the caller closes, or a negative number.
  [[nodiscard]] int export_file() const;

 private:
  PhysicalMemory(const CUmemAllocationProp& properties, std::uint64_t bytes);
  [[nodiscard]] bool make_file();
  void leave_to_importers() const;

  const CUmemAllocationProp properties_;
  const std::uint64_t bytes_;
  const std::uint64_t id_;
  Address charged_ = 0;  // our part of the device's addresses; 0: another process holds it
  bool has_own_file_ = false;
  FilePlace place_;
};

}  // namespace vramscope::simulator
