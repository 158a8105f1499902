// other_gpus() lists the numbers under which two reports have different GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

struct Report;

// One or several GPUs, whose memory is added up, in one of the two reports.
struct GpusOfNumber {
  std::vector<std::string> uuids = {};  // the known ones
  std::vector<std::string> hosts = {};
  std::size_t count = 0;
};
struct OtherGpu {
  std::uint16_t device = 0;
  std::string gpu = {};  // for people: gpu_name() of the later report
  GpusOfNumber before = {};
  GpusOfNumber after = {};
};

// diff and check compare two runs, of which the second may have been elsewhere, so GPUs with the
// same number are compared if their UUIDs match no others (same_gpus.h). Returns, sorted by number,
// those of which both runs had memory and whose UUIDs differ. May throw bad_alloc.
[[nodiscard]] std::vector<OtherGpu> other_gpus(const Report& before, const Report& after);

}  // namespace vramscope
