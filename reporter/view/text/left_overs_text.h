// left_overs_text() says what live files of dead programs take, and how to be rid of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/system/left_overs.h"

namespace vramscope {

// "100 live files of dead programs take 98.0 MiB in /dev/shm/vramscope-1000"; "": there is none.
[[nodiscard]] std::string left_overs_text(const LeftOvers& left);

// The same with the command, where they are so many, or take so much, that a person is to know.
[[nodiscard]] std::string left_overs_hint(const LeftOvers& left);

}  // namespace vramscope
