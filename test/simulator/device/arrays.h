// Arrays and mipmapped arrays: opaque memory of a device, with bytes that copies move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/ground/place.h"
#include "test/simulator/device/handles.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// A piece of a device without an address that a program would know. Given back with the last owner.
class ArrayMemory {
 public:
  ArrayMemory(int device, Address start, std::uint64_t bytes)
      : device_(device), start_(start), bytes_(bytes) {}
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;
  ~ArrayMemory();
  [[nodiscard]] Address start() const { return start_; }

 private:
  const int device_;
  const Address start_;
  const std::uint64_t bytes_;
};

// How the bytes of an array lie: tiles of 64 bytes by 8 rows, as if they were linear.
struct ArrayLayout {
  std::uint64_t row = 0;     // bytes that a program may touch in a row
  std::uint64_t pitch = 0;   // from row to row
  std::uint64_t rows = 1;    // that a program may touch in a slice
  std::uint64_t slice = 0;   // from slice to slice
  std::uint64_t slices = 1;  // depth, layers or faces
  std::uint64_t planes = 0;  // bytes of further planes behind the slices

  [[nodiscard]] std::uint64_t bytes() const { return slice * slices + planes; }
};

}  // namespace vramscope::simulator

struct CUarray_st {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  vramscope::simulator::ArrayLayout layout;
  CUcontext context = nullptr;
  std::shared_ptr<vramscope::simulator::ArrayMemory> memory;  // null: sparse or deferred
  vramscope::Address start = 0;
  bool is_part = false;  // a level or a plane: ends with the whole
  std::vector<std::shared_ptr<CUarray_st>> planes;
};

struct CUmipmappedArray_st {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  std::uint64_t bytes = 0;
  CUcontext context = nullptr;
  std::vector<std::shared_ptr<CUarray_st>> levels;
};

namespace vramscope::simulator {

Handles<CUarray_st>& arrays();
Handles<CUmipmappedArray_st>& mipmapped_arrays();

// False for what no array can be.
[[nodiscard]] bool lay_out(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, ArrayLayout& layout);
// Null, and the reason, when the device has no room.
std::shared_ptr<ArrayMemory> take_array_memory(CUcontext context, std::uint64_t bytes,
                                               CUresult* result);
// They end with their context.
void end_arrays_of(CUcontext context);

}  // namespace vramscope::simulator
