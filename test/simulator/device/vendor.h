// NVIDIA's driver header, with every ABI visible under its exact exported name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // old, _v2 and per-thread names coexist
#include <cuda.h>
#include <cudaProfiler.h>
