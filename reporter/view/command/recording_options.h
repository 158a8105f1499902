// add_recording_options() gives a verb the options of a recorded program (interpose/settings).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/view/command/arguments.h"

namespace vramscope {

using GivenOptions = std::vector<std::pair<OptionRow, std::string>>;  // "": it was not given

// options: must outlive the command. left_out: names of rows that the verb has no use for.
void add_recording_options(Command& command, GivenOptions& options,
                           const std::vector<std::string>& left_out = {});

// Returns the pattern of a file's name for a program that runs in another folder: what was typed is
// relative to the folder of this process.
[[nodiscard]] std::string path_for_program(const std::string& given);

}  // namespace vramscope
