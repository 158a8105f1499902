// answer_questions() answers what the library asks through the note of a run: which processes use a
// device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "reporter/view/system/nvml.h"

namespace vramscope {

// Answers each question in `note`, a path, until the file is gone or the process ends. is_asked:
// true while NVML is being asked.
void answer_questions(const std::string& note, const std::function<std::vector<GpuUse>()>& ask,
                      std::atomic<bool>& is_asked);

}  // namespace vramscope
