// The driver's functions for OpenGL, declared by hand: the vendor's header needs those of OpenGL.
// coverage_test.py compares the rows of functions.def with the vendor's table of function types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL  // old and new names side by side
#endif
#include <cuda.h>

#include <cstddef>

// Name, version, flavour, parameters; names of buffers, images and targets are 32-bit numbers.
// clang-format off
#define VRAMSCOPE_GRAPHICS_FUNCTIONS(X)                                                            \
  X(cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterBuffer_v3000,                                  \
    (CUgraphicsResource*, unsigned int, unsigned int))                                             \
  X(cuGraphicsGLRegisterImage, cuGraphicsGLRegisterImage_v3000,                                    \
    (CUgraphicsResource*, unsigned int, unsigned int, unsigned int))                               \
  X(cuGLRegisterBufferObject, cuGLRegisterBufferObject_v2000, (unsigned int))                      \
  X(cuGLMapBufferObject, cuGLMapBufferObject_v2000,                                                \
    (CUdeviceptr_v1*, unsigned int*, unsigned int))                                                \
  X(cuGLMapBufferObject_v2, cuGLMapBufferObject_v3020,                                             \
    (CUdeviceptr*, std::size_t*, unsigned int))                                                    \
  X(cuGLMapBufferObject_v2_ptds, cuGLMapBufferObject_v7000_ptds,                                   \
    (CUdeviceptr*, std::size_t*, unsigned int))                                                    \
  X(cuGLMapBufferObjectAsync, cuGLMapBufferObjectAsync_v2030,                                      \
    (CUdeviceptr_v1*, unsigned int*, unsigned int, CUstream))                                      \
  X(cuGLMapBufferObjectAsync_v2, cuGLMapBufferObjectAsync_v3020,                                   \
    (CUdeviceptr*, std::size_t*, unsigned int, CUstream))                                          \
  X(cuGLMapBufferObjectAsync_v2_ptsz, cuGLMapBufferObjectAsync_v7000_ptsz,                         \
    (CUdeviceptr*, std::size_t*, unsigned int, CUstream))                                          \
  X(cuGLUnmapBufferObject, cuGLUnmapBufferObject_v2000, (unsigned int))                            \
  X(cuGLUnmapBufferObjectAsync, cuGLUnmapBufferObjectAsync_v2030, (unsigned int, CUstream))        \
  X(cuGLUnregisterBufferObject, cuGLUnregisterBufferObject_v2000, (unsigned int))
// clang-format on

extern "C" {
#define VRAMSCOPE_DECLARE(symbol, type, parameters) \
  CUresult CUDAAPI symbol parameters;               \
  using PFN_##type = decltype(&(symbol));
VRAMSCOPE_GRAPHICS_FUNCTIONS(VRAMSCOPE_DECLARE)
#undef VRAMSCOPE_DECLARE
}
