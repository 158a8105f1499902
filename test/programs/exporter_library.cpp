// A library whose name says that it exports memory: see exporter.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <cstddef>

extern "C" __attribute__((visibility("default"))) CUdeviceptr ucs_sim_allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  (void)cuMemAlloc(&address, bytes);
  return address;
}
