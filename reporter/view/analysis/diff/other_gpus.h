// other_gpus() tells which GPUs of two reports have one number and are not one GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

struct Report;

// One or several, whose memory is added up, as one of two reports has it.
struct GpusOfNumber {
  std::vector<std::string> uuids = {};  // those that are known
  std::vector<std::string> hosts = {};
  std::size_t count = 0;
};
struct OtherGpu {
  std::uint16_t device = 0;
  std::string gpu = {};  // for a reader: gpu_name() of the later report
  GpusOfNumber before = {};
  GpusOfNumber after = {};
};

// diff and check compare two runs, of which the second may have been elsewhere: GPUs of one number
// are compared, whatever their UUIDs. By number, of those that both had memory of. May throw
// bad_alloc.
[[nodiscard]] std::vector<OtherGpu> other_gpus(const Report& before, const Report& after);

}  // namespace vramscope
