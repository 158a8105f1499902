// What the stand-ins for NVIDIA's libraries share. They exist under --sim only: handles and memory
// are real, work is accepted and not executed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "test/simulator/device/refused_program.h"

namespace vramscope::simulator {

// What NVIDIA's libraries call success.
inline constexpr int kSuccess = 0;

// Says in one line, once in a process, that figures of a library are modelled.
inline void say_modelled(std::atomic_flag& said, std::string_view line) {
  if (!said.test_and_set()) say_once(line);
}

// A handle or descriptor whose content nobody asks for; longer than any that is known.
struct Opaque {
  std::byte content[256] = {};
};

inline int make_opaque(void** made, int invalid, int no_memory) {
  if (made == nullptr) return invalid;
  *made = new (std::nothrow) Opaque;
  return *made == nullptr ? no_memory : kSuccess;
}

// One that takes no memory of the device is gone.
inline int unmake_opaque(const Opaque* made) {
  delete made;
  return kSuccess;
}

// A result that programs read from memory of the host.
template <typename Value>
int write_result(Value* into, Value value, int invalid) {
  if (into == nullptr) return invalid;
  *into = value;
  return kSuccess;
}

// What a solver says of each of its problems, in memory of the device: solved.
inline int write_solved_on(cudaStream_t stream, int* info, std::int64_t problems) {
  if (info == nullptr || problems < 1) return kSuccess;
  cudaMemsetAsync(info, 0, static_cast<std::size_t>(problems) * sizeof *info, stream);
  return kSuccess;
}

// The same on the stream of a handle. A library that has such functions defines it.
int write_solved(const void* handle, int* info, std::int64_t problems);

// Whether the program reads results in its own memory. As above.
bool reads_on_host(const void* handle);
int write_zero_on_host(const void* handle, void* into, int type);

template <typename Value>
int write_on_host(const void* handle, Value* into, Value value) {
  if (into != nullptr && reads_on_host(handle)) *into = value;
  return kSuccess;
}

struct DoubleComplex {
  double real = 0;
  double imaginary = 0;
};

// How long a number of a cudaDataType is, as far as results have it.
inline std::size_t result_bytes(int type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 4;
  }
}

// A result whose bytes are all alike, where the pointer mode of the handle says. As above.
int write_by_mode(const void* handle, int* into, int byte);

// Zeros for an attribute of a descriptor: its default in the libraries that ask this way.
inline int answer_zeros(void* value, std::size_t bytes, std::size_t* written) {
  if (value != nullptr) std::memset(value, 0, bytes);
  if (written != nullptr) *written = bytes;
  return kSuccess;
}

}  // namespace vramscope::simulator
