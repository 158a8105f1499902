// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/range_bytes.h"

#include "interpose/loader/real.h"

namespace vramscope {

std::size_t range_bytes(CUdeviceptr address) noexcept {
  std::size_t bytes = 0;
  const auto ask = real().cuMemGetAddressRange_v2;
  return ask != nullptr && ask(nullptr, &bytes, address) == CUDA_SUCCESS ? bytes : 0;
}

}  // namespace vramscope
