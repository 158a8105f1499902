// cuGetErrorName and cuGetErrorString.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

const char* name_of(CUresult result) {
  switch (result) {
#define RESULT(name, text) \
  case name:               \
    return #name;
#include "test/simulator/driver/results.def"
#undef RESULT
    default:
      return nullptr;
  }
}

const char* text_of(CUresult result) {
  switch (result) {
#define RESULT(name, text) \
  case name:               \
    return text;
#include "test/simulator/driver/results.def"
#undef RESULT
    default:
      return nullptr;
  }
}

CUresult give(const char** text, const char* found) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = found;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuGetErrorName(CUresult result, const char** text) { return give(text, name_of(result)); }
CUresult cuGetErrorString(CUresult result, const char** text) {
  return give(text, text_of(result));
}

}  // namespace body

}  // namespace vramscope::simulator
