// why_not_writable() tells before a program starts that its report or trace could not be written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

// "" or one line, for the option with the `noun` ("report") and its pattern of a name. `program` is
// what %e stands for. A folder whose name only the program's processes know is not looked at, and
// the place is tried with a few bytes, which are taken away again.
[[nodiscard]] std::string why_not_writable(std::string_view noun, const std::string& pattern,
                                           const std::string& program);

// " (x.json was taken)" of "x.json~1"; "" when the path is as it was wanted.
[[nodiscard]] std::string taken_name(const std::string& path);

}  // namespace vramscope
