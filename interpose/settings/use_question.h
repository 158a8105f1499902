// What the library asks of `vramscope run` while the program runs, by the note of the run: which
// processes use a device. `run` asks NVML, which the program never meets through us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/base/device_use.h"

namespace vramscope {

// Lines of the note: a question of a process, and the answer of `run`, by the question's number.
inline constexpr const char* kAskNote = "ask ";
inline constexpr const char* kUseNote = "use ";

struct UseQuestion {
  std::string number;  // "4711.3": the third of that process
  std::string uuid;    // of the device
};

[[nodiscard]] std::string question_line(const UseQuestion& question);
// Nothing: it is no question. `line` is without its newline.
[[nodiscard]] std::optional<UseQuestion> question_in(std::string_view line);
// `answer`: nothing when NVML does not say it.
[[nodiscard]] std::string answer_line(const std::string& number,
                                      const std::optional<std::vector<DeviceProcess>>& answer);

// Asks the `run` that made `note`, and waits for its answer, a fifth of a second at most; who was
// not answered in time does not ask again. Nothing where nobody knows. Keeps errno; may throw
// bad_alloc. Threads: any.
[[nodiscard]] std::optional<std::vector<DeviceProcess>> ask_use(const char* note,
                                                                std::string_view uuid);

}  // namespace vramscope
