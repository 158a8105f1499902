// What the verbs share: complaints, options, listings.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/verb.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "interpose/settings/private_variables.h"
#include "reporter/report/report.h"
#include "reporter/view/command/csv_output.h"
#include "reporter/view/command/inputs.h"

namespace vramscope {
namespace {

// Nowhere is left to complain that it failed.
void complain(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string not_a_count(const std::string& given) {
  constexpr std::size_t kMostDigits = 9;  // of any count that makes sense
  const bool good = !given.empty() && given.size() <= kMostDigits &&
                    given.find_first_not_of("0123456789") == std::string::npos;
  return good ? "" : "'" + given + "' is not a whole number from 0 to 999999999";
}

void say(std::string_view line) {
  std::string text = "vramscope: ";
  text += harmless(line);  // it may name what somebody else has named
  text += '\n';
  complain(text);
}

int refuse(std::string_view line) {
  say(line);
  return kBadInput;
}

void add_listing_options(Command& command, Listing& listing) {
  command.flag("--json", listing.json, "Print exact numbers as JSON");
  const std::string usual =
      listing.most == 0 ? "" : "; default " + std::to_string(listing.most) + " as text";
  command.flag("--csv", listing.csv, "Print rows as comma-separated values with a header line");
  command.exclude("--csv", "--json");
  command.option("--sort", &listing.sort,
                 "Sort by COLUMN of --csv, largest first; +COLUMN: smallest first",
                 {.value_name = "COLUMN"});
  command.option("-n", &listing.typed_most, "Show at most N rows, 0 for all" + usual,
                 {.value_name = "N", .why_not = not_a_count});
  command.option("-o,--output", &listing.output, "Write to FILE instead of standard output",
                 {.value_name = "FILE"});
  add_force(command, listing.forced);
  add_share(command, listing.shared);
  command.flag("--wide", listing.wide, "Do not cut lines at the terminal's width or $COLUMNS");
}

void add_force(Command& command, bool& forced) {
  command.flag("-f,--force", forced, "Overwrite an existing output file");
}

void add_share(Command& command, bool& shared) {
  command.flag("--share", shared,
               "Create the output file with the umask's permissions, not owner-only");
}

Readers readers_of(bool shared) { return shared ? Readers::others : Readers::owner; }

void settle_rows(Listing& listing) {
  if (listing.typed_most) {
    listing.most = *listing.typed_most;
  } else if (listing.json || listing.csv) {
    listing.most = 0;
  }
}

int publish(const Listing& listing, std::string_view text) {
  // It took a while to make: another program may have made the file meanwhile.
  const Overwriting overwriting = listing.forced ? Overwriting::forced : Overwriting::asked_for;
  const std::string lost = lost_by(listing.output, {}, overwriting);
  if (!lost.empty()) return refuse("-o " + lost);
  Output output(listing.output, readers_of(listing.shared));
  output << text;
  const std::string problem = output.end();
  return problem.empty() ? kFine : refuse(problem);
}

int publish_csv(const Listing& listing, const std::function<void(CsvText&)>& make) {
  CsvOutput output(listing.output, readers_of(listing.shared));
  make(output.csv());
  const std::string problem = output.end();
  return problem.empty() ? kFine : refuse(problem);
}

void add_simulated_model(Command& command, std::string& model) {
  const auto why_not = [](const std::string& given) {
    const std::vector<std::string> models = choices_in(kSimulatedModels);
    const bool is_one = std::find(models.begin(), models.end(), given) != models.end();
    return is_one ? "" : "'" + given + "' is none of " + kSimulatedModels;
  };
  std::string help = "Simulate this GPU: ";
  help += kSimulatedModels;
  command.option("--sim-device", &model, help,
                 {.value_name = "NAME",
                  .why_not = why_not,
                  .needs = "--sim",
                  .choices = choices_in(kSimulatedModels)});
}

void add_view_options(Command& command, StackChoice& choice) {
  const auto sets = [&choice](StackView view) { return [&choice, view] { choice.view = view; }; };
  command.flag("--with-native", sets(StackView::with_native),
               "Show native frames between Python frames, without the interpreter's");
  command.flag("--python-only", sets(StackView::python_only), "Show Python frames only");
  command.flag("--native-only", sets(StackView::native_only),
               "Show native frames only, including the interpreter's");
  command.exclude("--with-native", "--python-only");
  command.exclude("--with-native", "--native-only");
  command.exclude("--python-only", "--native-only");
}

void add_full_option(Command& command, StackChoice& choice) {
  command.flag(
      "--full", [&choice] { choice.shown = Stacks::in_full; },
      "Show whole call stacks with types, paths and lines");
}

void add_layout_options(Command& command, StackChoice& choice) {
  add_full_option(command, choice);
  command.flag(
      "--tree", [&choice] { choice.shown = Stacks::as_tree; },
      "Show call stacks as one tree, outermost frame first");
  command.exclude("--full", "--tree");
  command.exclude("--tree", "--sort");  // a tree has an order of its own
}

void add_one_report(Command& command, OneReport& arguments, std::size_t most) {
  arguments.listing.most = most;
  const bool takes_traces = arguments.use.inputs == Inputs::both;
  command.positional("FILE", &arguments.files, takes_traces ? kTracesHelp : kReportsHelp);
  if (arguments.adds_up) {
    command.flag("--each", arguments.each, "Show each report separately");
  }
  add_listing_options(command, arguments.listing);
}

std::optional<Suppressions> open_suppressions(const std::vector<std::string>& files,
                                              bool no_usual) {
  Suppressions suppressions;
  for (const std::string& file : files) {
    const std::string problem = suppressions.add_file(file);
    if (problem.empty()) continue;
    say(problem);
    return std::nullopt;
  }
  if (!no_usual) suppressions.add_usual();
  return suppressions;
}

}  // namespace vramscope
