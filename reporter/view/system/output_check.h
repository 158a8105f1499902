// why_not_writable() says before a program starts why its report or trace could not be written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

struct Options;

// Returns "" or one line, for the option with the `noun` ("report") and its name pattern. program:
// the value of %e. A folder whose name only the program's processes know is not checked. The place
// is tried with a few bytes, which are removed again.
[[nodiscard]] std::string why_not_writable(std::string_view noun, const std::string& pattern,
                                           const std::string& program);

// Makes the folders of reports and of the trace, as far as their names are known before the program
// starts. If it fails, why_not_writable() says why.
void make_output_folders(const Options& options, const std::string& program);

// Returns " (x.json was taken)" for "x.json~1", or "" if the path is the wanted one.
[[nodiscard]] std::string taken_name(const std::string& path);

}  // namespace vramscope
