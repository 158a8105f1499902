// Copies and sets of boxes of bytes, with one description for one, two and three dimensions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>

#include "allocator/base/place.h"
#include "test/simulator/device/engine.h"
#include "test/simulator/device/memory_table.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

struct Box {
  std::uint64_t width = 0;  // bytes
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
};

// The position of a box: its first byte, and the steps between rows and between slices.
struct Side {
  Address start = 0;
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
  CUarray array = nullptr;  // with the offsets in it; null: ordinary memory
  std::uint64_t x_bytes = 0, y = 0, z = 0;
};

// What the program says an address is.
enum class Claim : std::uint8_t {
  device,  // known to the driver
  host,    // any host memory
  any,     // decided by the address
  array,   // checked when it was read
};

enum class Wait : std::uint8_t {
  as_needed,  // asynchronous, as far as pageable memory allows
  for_host,   // unless everything is on devices
  always,
};

struct Copy {
  Box box;
  Side to;
  Side from;
  Claim to_claim = Claim::any;
  Claim from_claim = Claim::any;
};

struct Fill {
  Box box;  // width in bytes, a multiple of `element`
  Side to;
  std::uint32_t value = 0;
  unsigned element = 1;  // bytes: 1, 2 or 4
};

enum class Purpose : std::uint8_t {
  now,
  node,  // of a graph: may name memory that a launch will allocate
};

// A box after its checks.
struct Plan {
  CUresult result = CUDA_SUCCESS;
  Engine::Work work = {};
  bool pageable = false;
  bool host_visible = false;
};
// Notes that memory ends: later work that uses it is a fault.
void end_life(const Allocation& memory);
// Code that moves bytes locks it shared, code that removes pages exclusively.
[[nodiscard]] std::shared_mutex& bytes_mutex();

[[nodiscard]] Plan plan(const Copy& copy, Purpose purpose);
[[nodiscard]] Plan plan(const Fill& fill, Purpose purpose);

// Convert NVIDIA's descriptions of boxes.
[[nodiscard]] CUresult read(const CUDA_MEMCPY3D& told, Copy& copy);
[[nodiscard]] CUresult read(const CUDA_MEMSET_NODE_PARAMS_v2& told, Fill& fill);
[[nodiscard]] CUgraphNodeParams node_of(const Copy& copy);
[[nodiscard]] CUgraphNodeParams node_of(const Fill& fill);

CUresult transfer(const Copy& copy, CUstream stream, Wait wait);
CUresult transfer(const Fill& fill, CUstream stream, Wait wait);

}  // namespace vramscope::simulator
