// vramscope owners: whose the memory of each GPU is.
// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <memory>
#include <system_error>

#include "reporter/report/report.h"
#include "reporter/view/command/show.h"
#include "reporter/view/system/host.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/nvml.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/owners_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 20;

struct Arguments : OneReport {
  std::string by;  // "": owners
};

bool still_runs(const ProcessFacts& process) {
  if (process.hostname.empty() || process.hostname != this_host()) return false;
  std::error_code error;
  const std::string link = "/proc/" + std::to_string(process.pid) + "/exe";
  return std::filesystem::read_symlink(link, error) == process.executable && !error;
}

// With the processes that use the same GPUs, while they can be asked about.
Report with_others(Report report) {
  if (!still_runs(report.process)) return report;
  const InstalledFile simulator = report.process.simulated ? find_simulator() : InstalledFile{};
  name_others(report, ask_nvml(simulator.path.empty() ? kNvml : simulator.path + "/" + kNvml));
  return report;
}

constexpr const char* kAxisWords = "owner, thread, stream, range, call, size";

std::string no_axis(const std::string& name) {
  if (name == "function") {
    return "functions are the program's: sites --group function; those of CUDA's driver are --by "
           "call";
  }
  return axis_named(name) ? "" : "'" + name + "' is none of " + kAxisWords;
}

int show_owners(Arguments& given) {
  given.use.axis = given.by.empty() ? Axis::owner : *axis_named(given.by);
  if (!given.by.empty()) given.use.of_a_trace = "owners --by " + given.by;
  const auto text = [&](const Report& report, const Page& page) {
    if (!given.by.empty()) {
      return axis_text(report, *axis_named(given.by), names_from_symbols(), page,
                       given.listing.rows());
    }
    const Report all = with_others(report);
    OwnersAnswer answer = owners_answer(all, names_from_symbols());
    arrange_owners(answer, report, given.listing.rows());
    return owners_text(all, answer, page, given.listing.most);
  };
  const auto json = [&](const Report& report) {
    return given.by.empty() ? owners_json(with_others(report), given.listing.rows())
                            : axis_json(report, *axis_named(given.by), names_from_symbols(),
                                        given.listing.rows());
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    given.by.empty() ? add_owners_csv(rows, with_others(report), given.listing.rows())
                     : add_axis_csv(rows, report, *axis_named(given.by), names_from_symbols(),
                                    given.listing.rows());
  };
  given.columns = {given.by.empty() ? names_of(owner_columns(RunHistory::known))
                                    : names_of(axis_columns(Report(), Axis::owner))};
  if (given.filter.kind.empty()) given.prepare = leave_out_views;
  given.next = given.by.empty() ? "owners --by size" : "peak";
  return show(given, {text, json, csv});
}

}  // namespace

Verb add_owners(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("owners", "Show who owns the memory, at the peak and at exit");
  arguments->use = {.axis = Axis::owner, .inputs = Inputs::both, .of_a_trace = "owners"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  add_filters(command, arguments->filter, arguments->use);
  add_redact(command, arguments->reading);
  command.option("--by", &arguments->by,
                 "Group by thread, stream, range, call (driver function) or size",
                 {.value_name = "AXIS", .why_not = no_axis, .choices = choices_in(kAxisWords)});
  command.footer(
      "The parts at exit add up to the used memory of a GPU. Threads have the names that the "
      "system knows. Python before 3.14 does not pass thread names to the system, so vramscope "
      "owners "
      "shows the function in which the thread began. For functions of the program, see sites "
      "--group "
      "function; to compare two reports by function, see diff --by function.\nExamples:\n  "
      "vramscope owners "
      "vramscope.train.4711.json\n  vramscope owners --by range vramscope.train.4711.json    by "
      "NVTX range");
  return {.command = &command, .act = [arguments] { return show_owners(*arguments); }};
}

}  // namespace vramscope
