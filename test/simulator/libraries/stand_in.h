// The parts that the stand-ins for NVIDIA's libraries share. They exist only under --sim: handles
// and memory are real, work is accepted and not executed.
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

// The success code of NVIDIA's libraries.
inline constexpr int kSuccess = 0;

// Prints one line, once in a process: figures of a library are modelled.
inline void say_modelled(std::atomic_flag& said, std::string_view line) {
  if (!said.test_and_set()) say_once(line);
}

// A handle or descriptor whose content is never read; larger than any known one.
struct Opaque {
  std::byte content[256] = {};
};

inline int make_opaque(void** made, int invalid, int no_memory) {
  if (made == nullptr) return invalid;
  *made = new (std::nothrow) Opaque;
  return *made == nullptr ? no_memory : kSuccess;
}

// Ends one that takes no device memory.
inline int unmake_opaque(const Opaque* made) {
  delete made;
  return kSuccess;
}

// Puts one operation into a stream: a kernel that is accepted and counted, and not executed. Those
// who wait for a library's work, and captures, see that there is some.
void enqueue_on(cudaStream_t stream);

// Does the same on the stream of a handle. A library that has such functions defines it.
int enqueue_for(const void* handle);

// Writes a result that programs read from host memory.
template <typename Value>
int write_result(Value* into, Value value, int invalid) {
  if (into == nullptr) return invalid;
  *into = value;
  return kSuccess;
}

// Writes a solver's result for each of its problems, in device memory: solved.
inline int write_solved_on(cudaStream_t stream, int* info, std::int64_t problems) {
  if (info == nullptr || problems < 1) return kSuccess;
  cudaMemsetAsync(info, 0, static_cast<std::size_t>(problems) * sizeof *info, stream);
  return kSuccess;
}

// Does the same on the stream of a handle. A library that has such functions defines it.
int write_solved(const void* handle, int* info, std::int64_t problems);

// Returns whether the program reads results in its own memory. A library that needs it defines it.
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

// Returns the bytes of a number of a cudaDataType, as far as results have that type.
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

// Writes a result of equal bytes, to where the handle's pointer mode says. A library that needs it
// defines it.
int write_by_mode(const void* handle, int* into, int byte);

// Writes zeros for an attribute of a descriptor, its default in the libraries with this kind of
// query.
inline int answer_zeros(void* value, std::size_t bytes, std::size_t* written) {
  if (value != nullptr) std::memset(value, 0, bytes);
  if (written != nullptr) *written = bytes;
  return kSuccess;
}

}  // namespace vramscope::simulator
