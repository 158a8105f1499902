// Arrays and mipmapped arrays: opaque memory of a device, with bytes that copies move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/base/place.h"
#include "test/simulator/device/handles.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Memory of a device without an address that the program knows. It goes back with its last owner.
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

// The layout of an array's bytes: tiles of 64 bytes by 8 rows, stored as if they were linear.
struct ArrayLayout {
  std::uint64_t row = 0;     // bytes of a row that a program may use
  std::uint64_t pitch = 0;   // distance between rows
  std::uint64_t rows = 1;    // rows of a slice that a program may use
  std::uint64_t slice = 0;   // distance between slices
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
  bool is_part = false;  // a level or a plane, which ends with the whole array
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

// Returns false for a descriptor that no array can have.
[[nodiscard]] bool lay_out(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, ArrayLayout& layout);
// Returns null, with the reason in `result`, if the device has no room.
std::shared_ptr<ArrayMemory> take_array_memory(CUcontext context, std::uint64_t bytes,
                                               CUresult* result);
// Ends the arrays of a context that ends.
void end_arrays_of(CUcontext context);

}  // namespace vramscope::simulator
