// show() opens the reports that a verb was given, and publishes what the verb makes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/command/verb.h"

namespace vramscope {

// Writes what is made of each report: text, of several with a heading; JSON, of several an array of
// {file, pid, rank, executable, listing}; or CSV, whose rows begin with file, pid and rank. Several
// that add up are one. Gives the exit code. Of several reports that whose text is empty is left
// out. A report that cannot be read is said, and the others are shown. `open` gives the report of a
// path, or says why not; without it that is open_report.
using OpenReport = std::function<std::optional<Report>(std::string& path)>;
[[nodiscard]] int show(OneReport& arguments, const Makers& make);
[[nodiscard]] int show(OneReport& arguments, const Makers& make, const OpenReport& open);

}  // namespace vramscope
