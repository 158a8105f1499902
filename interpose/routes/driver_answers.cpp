// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes/driver_answers.h"

#include "allocator/base/fault.h"

namespace vramscope::routes {

CUresult to_code(const Status& status) noexcept {
  switch (status.result) {
    case Result::ok:
      return CUDA_SUCCESS;
    case Result::invalid:
      return CUDA_ERROR_INVALID_VALUE;
    case Result::out_of_memory:
      return fault(Fault::changed_code) ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_OUT_OF_MEMORY;
    case Result::failed:
    case Result::forbidden:
      break;
  }
  return status.code != 0 ? static_cast<CUresult>(status.code) : CUDA_ERROR_UNKNOWN;
}

void* unknown_pointer() noexcept {
  static char anything;
  return &anything;
}

}  // namespace vramscope::routes
