// The verbs of the command line tool and what they share: exit codes, complaints, listings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/format.h"

namespace CLI {
class App;
}

namespace vramscope {

enum ExitCode : int {
  kFine = 0,
  kThreshold = 1,  // a threshold that was asked for is crossed
  kBadInput = 2,   // bad usage, or a file that cannot be read or written
  // Of `run`, beside the program's own, as a shell has them.
  kOwnFailure = 125,
  kNotExecutable = 126,
  kNotFound = 127,
  kSignalled = 128,  // plus the signal's number
};

// A subcommand and what to do, once its arguments are parsed, when it was the one; gives the exit
// code.
struct Verb {
  CLI::App* command = nullptr;
  std::function<int()> act = {};
  // When set: takes from the words behind the verb, before they are parsed, those that are not
  // ours.
  std::function<void(std::vector<std::string>& words)> take = {};
};

[[nodiscard]] Verb add_run(CLI::App& app);
[[nodiscard]] Verb add_snapshot(CLI::App& app);
[[nodiscard]] Verb add_report(CLI::App& app);
[[nodiscard]] Verb add_stats(CLI::App& app);
[[nodiscard]] Verb add_sites(CLI::App& app);
[[nodiscard]] Verb add_peak(CLI::App& app);
[[nodiscard]] Verb add_owners(CLI::App& app);
[[nodiscard]] Verb add_timeline(CLI::App& app);
[[nodiscard]] Verb add_trace(CLI::App& app);
[[nodiscard]] Verb add_functions(CLI::App& app);
[[nodiscard]] Verb add_options(CLI::App& app);

// Checks of an argument: "", or why it is none.
[[nodiscard]] std::string not_a_count(const std::string& given);

// One line on stderr, "vramscope: " before it.
void say(std::string_view line);

// The options of every listing.
struct Listing {
  bool json = false;
  std::size_t most = 0;  // rows; 0: all
  std::string output;    // file; "": standard output
};
void add_listing_options(CLI::App& command, Listing& listing);

// Where the listing goes: the terminal's width and colours only when it goes to one.
[[nodiscard]] Page page_of(const Listing& listing);

// Writes the text to where the listing goes; gives the exit code.
[[nodiscard]] int publish(const Listing& listing, std::string_view text);

// The report in a file; says why not.
[[nodiscard]] std::optional<Report> open_report(const std::string& path);

}  // namespace vramscope
