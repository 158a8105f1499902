// What earlier programs left in memory when they were killed without a `run`, and what the next
// `run` does about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

class Command;

// Beyond which live files of dead programs are recovered, the oldest first; "0" or "off": never.
struct EarlierWish {
  std::string days = "7";      // since the program changed it last
  std::string percent = "25";  // of their file system, that they take together
};
// --recover-after and --recover-above.
void add_earlier_options(Command& command, EarlierWish& wish);

// Removes those that nobody needs, recovers those beyond the limits, under their usual names, and
// gives what is to be said behind a
// line of run's: "; recovered 12 reports of programs that were killed earlier; 100 live files of
// dead programs take ..."; "": nothing. Of what a person is told there is a note, so that the next
// run does not repeat it.
enum class Told : bool { no, yes };
[[nodiscard]] std::string recover_earlier(const EarlierWish& wish, Told told);

}  // namespace vramscope
