// vramscope sites, peak, owners and timeline: who holds the bytes, where and when.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "reporter/view/outside/installation.h"
#include "reporter/view/outside/nvml.h"
#include "reporter/view/text/attribution_text.h"
#include "reporter/view/text/stack_view.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

struct Arguments {
  std::string file;
  std::string by;
  StackChoice stacks;
  bool histograms = false;
  Listing listing;
};

std::shared_ptr<Arguments> arguments_of(CLI::App& command, std::size_t most) {
  auto arguments = std::make_shared<Arguments>();
  arguments->listing.most = most;
  command.add_option("FILE", arguments->file, "Report")->required();
  add_listing_options(command, arguments->listing);
  return arguments;
}

// `text(report, page)` or, when asked for, `json(report)` of the report in the file.
template <class Text, class Json>
std::function<int()> shows(std::shared_ptr<Arguments> arguments, Text text, Json json) {
  return [arguments = std::move(arguments), text, json] {
    std::optional<Report> report = open_report(arguments->file);
    if (!report) return int{kBadInput};
    choose_frames(*report, arguments->stacks);
    const Listing& listing = arguments->listing;
    return publish(listing, listing.json ? json(*report, *arguments)
                                         : text(*report, *arguments, page_of(listing)));
  };
}

bool still_runs(const ProcessFacts& process) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || process.hostname != host.data())
    return false;
  std::error_code error;
  const std::string link = "/proc/" + std::to_string(process.pid) + "/exe";
  return std::filesystem::read_symlink(link, error) == process.executable && !error;
}

// With the processes that use the same GPUs, while they can be asked about.
Report with_others(Report report) {
  if (!still_runs(report.process)) return report;
  const Found simulator = report.process.simulated ? find_simulator() : Found{};
  name_others(report, ask_nvml(simulator.path.empty() ? kNvml : simulator.path + "/" + kNvml));
  return report;
}

std::string no_order(const std::string& name) {
  return site_order(name) ? ""
                          : "'" + name +
                                "' is none of peak, live, total, count, time, temporary, "
                                "growth";
}

std::string no_axis(const std::string& name) {
  return axis_named(name) ? ""
                          : "'" + name +
                                "' is none of owner, thread, stream, range, function, "
                                "size";
}

}  // namespace

Verb add_sites(CLI::App& app) {
  CLI::App* command = app.add_subcommand("sites", "List the places that allocated");
  auto arguments = arguments_of(*command, 20);
  arguments->by = "peak";
  command
      ->add_option("--by", arguments->by,
                   "Order: peak, live, total, count, time, temporary, growth")
      ->check(no_order)
      ->type_name("ORDER")
      ->capture_default_str();
  command->add_flag("--lines", arguments->stacks.by_line,
                    "One row a line of Python, whoever called it");
  add_view_options(*command, arguments->stacks);
  command->add_flag("--histograms", arguments->histograms,
                    "Show how large their allocations were, and how long they lived");
  const auto text = [](const Report& report, const Arguments& given, const Page& page) {
    const auto show = given.histograms ? histograms_text : all_sites_text;
    return show(report, *site_order(given.by), names_from_symbols(), page, given.listing.most);
  };
  const auto json = [](const Report& report, const Arguments& given) {
    return all_sites_json(report, *site_order(given.by), names_from_symbols(), given.listing.most);
  };
  return {.command = command, .act = shows(std::move(arguments), text, json)};
}

Verb add_peak(CLI::App& app) {
  CLI::App* command = app.add_subcommand("peak", "Explain the peak of each kind of memory");
  auto arguments = arguments_of(*command, 10);
  add_view_options(*command, arguments->stacks);
  const auto text = [](const Report& report, const Arguments& given, const Page& page) {
    return peak_text(report, names_from_symbols(), page, given.listing.most);
  };
  const auto json = [](const Report& report, const Arguments& given) {
    return peak_json(report, names_from_symbols(), given.listing.most);
  };
  return {.command = command, .act = shows(std::move(arguments), text, json)};
}

Verb add_owners(CLI::App& app) {
  CLI::App* command = app.add_subcommand("owners", "Show whose the memory of each GPU is");
  auto arguments = arguments_of(*command, 20);
  command
      ->add_option("--by", arguments->by,
                   "Other than owners: thread, stream, range, function, size")
      ->check(no_axis)
      ->type_name("AXIS");
  command->footer(
      "The parts of a GPU add up to what is used of it. Examples:\n"
      "  vramscope owners vramscope.train.4711.json\n"
      "  vramscope owners --by range vramscope.train.4711.json    by NVTX range");
  const auto text = [](const Report& report, const Arguments& given, const Page& page) {
    return given.by.empty() ? owners_text(with_others(report), page, given.listing.most)
                            : axis_text(report, *axis_named(given.by), page, given.listing.most);
  };
  const auto json = [](const Report& report, const Arguments& given) {
    return given.by.empty() ? owners_json(with_others(report), given.listing.most)
                            : axis_json(report, *axis_named(given.by), given.listing.most);
  };
  return {.command = command, .act = shows(std::move(arguments), text, json)};
}

Verb add_timeline(CLI::App& app) {
  CLI::App* command = app.add_subcommand("timeline", "Draw how much was allocated over time");
  auto arguments = arguments_of(*command, 0);
  const auto text = [](const Report& report, const Arguments& given, const Page& page) {
    return timeline_text(report, page, given.listing.most);
  };
  const auto json = [](const Report& report, const Arguments& given) {
    return timeline_json(report, given.listing.most);
  };
  return {.command = command, .act = shows(std::move(arguments), text, json)};
}

}  // namespace vramscope
