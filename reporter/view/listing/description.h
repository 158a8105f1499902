// VerbDescription and OptionDescription: what the command line takes, as data: --help, completion
// and manual are three texts of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

// An option, or a word that is none: FILE.
struct OptionDescription {
  std::vector<std::string> names;         // "-o", "--output"
  std::string value = {};                 // its name in --help: "BYTES"; "": it takes none
  std::string usual = {};                 // that counts when it is not given; "": not said
  std::string help;                       // one sentence or several, no full stop needed
  std::vector<std::string> choices = {};  // all the values that it takes; {}: not a few words
  bool is_repeatable = false;             // of a word: there may be several
};

struct VerbDescription {
  std::string name;
  std::string help;
  std::vector<OptionDescription> words = {};  // that are no options, in their order
  std::vector<OptionDescription> options = {};
  std::string footer = {};
};

}  // namespace vramscope
