// A library that frees what it was given when the process ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

// One block is freed by a static object of the library, the other by its destructor function.
extern "C" void give_library(CUdeviceptr for_object, CUdeviceptr for_destructor);
