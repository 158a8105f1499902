// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/recording_options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "reporter/report/files/file_name.h"

namespace vramscope {

void add_recording_options(Command& command, GivenOptions& options,
                           const std::vector<std::string>& left_out) {
  for (OptionRow& row : option_rows()) {
    if (std::ranges::count(left_out, row.name) == 0) options.emplace_back(std::move(row), "");
  }
  for (auto& [row, value] : options) {
    const std::string flags = row.name == "output" ? "-o," + row.flag : row.flag;
    const std::string usual = row.default_value.empty() ? "empty" : row.default_value;
    const std::string values = "Takes " + row.accepted + "; default " + usual + ".";
    const std::string help = row.sentence + "\n" + values;
    // What is off needs no word to be on: --cupti, --cupti=off.
    const bool is_flag = row.default_value == "off";
    const bool is_pattern = row.name == "output" || row.name == "trace";
    const auto why_not = [variable = row.variable, accepted = row.accepted,
                          is_pattern](const std::string& given) {
      if (!accepts(variable, given)) {
        const bool is_size = accepted.find("GiB") != accepted.npos;
        return "'" + given + "' is not " + accepted + (is_size ? unit_meant(given) : "");
      }
      const std::string unknown(is_pattern ? unknown_escape(given) : "");
      return unknown.empty()
                 ? ""
                 : "'" + unknown + "' in '" + given + "' is none of " + std::string(kEscapes);
    };
    const OptionTraits traits{.value_name = is_flag ? "" : "VALUE",
                              .why_not = why_not,
                              .group =
                                  "Settings (also as VRAMSCOPE_MODE, "
                                  "VRAMSCOPE_OUTPUT, ...)",
                              .choices = choices_in(row.accepted)};
    if (is_flag) {
      command.flag(flags, value, help, traits);
    } else {
      command.option(flags, &value, help, traits);
    }
  }
}

std::string path_for_program(const std::string& given) {
  if (given.starts_with('/')) return given;
  std::error_code error;
  std::string path;
  for (const char c : std::filesystem::current_path(error).string()) {
    path += c == '%' ? "%%" : std::string(1, c);
  }
  return path + "/" + given;
}

}  // namespace vramscope
