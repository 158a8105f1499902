// leave_logs_empty() answers the options of calls that compile and link.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Leaves the logs empty for which a program provides buffers, since there is nothing to report.
inline void leave_logs_empty(unsigned count, const CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  for (unsigned i = 0; i < count; ++i) {
    const CUjit_option option = options[i];
    const bool is_size =
        option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    const bool is_log = option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
    if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    if (is_size) values[i] = nullptr;  // bytes written
  }
}

}  // namespace vramscope::simulator
