// vramscope oom: what was asked for, and what stood in the way, when memory ran out.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>
#include <vector>

#include "reporter/report/ledger_row.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/command/report_of_instant.h"
#include "reporter/view/command/show.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/system/host.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/nvml.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/tried_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 10;

bool is_of_this_machine(const Report& report) {
  return !report.process.hostname.empty() && report.process.hostname == this_host();
}

std::string others_line(std::uint16_t device, const char* when,
                        const std::vector<OtherProcess>& others) {
  std::string line;
  for (const OtherProcess& other : others) {
    if (other.device != device) continue;
    line += (line.empty() ? "" : ", ") + other.name + " " + bytes_text(other.bytes);
  }
  return line.empty() ? "" : "Others on GPU " + std::to_string(device) + " " + when + ": " + line;
}

// A report that was written when memory ran out names the others of that moment. For any other
// report NVML names those of now, who are often the same. "" if others had nothing, or if nobody
// can name them.
std::string others_text(const Report& report) {
  if (report.oom.events.empty()) return "";
  const OomEvent& last = report.oom.events.back();
  if (others_then(last) == 0) return "";
  if (trigger_of(report) == Trigger::oom) {
    std::vector<OtherProcess> named;
    for (const DeviceReport& device : report.devices) {
      for (const DeviceProcess& process : device.facts.other_processes) {
        named.push_back({device.facts.index, process_name(process), process.bytes});
      }
    }
    if (!named.empty()) return others_line(last.device, "then", named);
  }
  if (!is_of_this_machine(report)) return "";
  const InstalledFile simulator = report.process.simulated ? find_simulator() : InstalledFile{};
  const std::string library = simulator.path.empty() ? kNvml : simulator.path + "/" + kNvml;
  return others_line(last.device, "now", others_on(report, ask_nvml(library)));
}

// The last that was looked at, or the last. There is one.
const OomEvent& last_known(const Report& report) {
  const OomEvent& last = report.oom.events.back();
  const OomEvent* const before = last.has_details ? nullptr : looked_at_before(report, last);
  return before == nullptr ? last : *before;
}

// Whether what stands on the first screen is a leak.
bool has_leaked(const Report& report, const Leaks& leaks) {
  const std::vector<OomEvent>& events = report.oom.events;
  return !events.empty() && (leak_then(report, leaks, events.front()).bytes != 0 ||
                             leak_then(report, leaks, last_known(report)).bytes != 0);
}

// What a replay of the run's trace says of its first refusal, and which file that is.
struct TriedInTrace {
  std::string trace;
  std::optional<RefusalTrial> trial;
};

TriedInTrace tried_in_trace(const Report& report, const std::string& path) {
  if (report.oom.count == 0) return {};
  TriedInTrace tried{.trace = whole_trace_of(path, report), .trial = {}};
  std::optional<TrialSteps> steps;
  if (!tried.trace.empty()) steps = open_trial(tried.trace, Incomplete::played);
  if (!steps) return {};
  ProgressLine progress("oom", "events");
  tried.trial = try_refusal(std::move(*steps), progress.teller());
  return tried;
}

// The command that leads on, and the file that it is of.
struct NextStep {
  std::string words;
  std::string file;
};

NextStep next_step(const Report& report, const Leaks& leaks, const std::string& path) {
  if (has_leaked(report, leaks)) return {"leaks", path};
  const std::vector<OomEvent>& events = report.oom.events;
  if (!events.empty() && stranded_then(report, last_known(report)) != 0) {
    if (std::string drawn = map_of_refusal(report, path); !drawn.empty())
      return {"map --at oom", std::move(drawn)};
  }
  return {"owners", path};
}

int show_oom(OneReport& given) {
  const NameFrame name = names_from_symbols(given.stacks.shown);
  std::size_t without = 0;  // refusals: reports
  bool any = false;
  const auto text = [&](const Report& report, const Page& page) {
    if (given.is_one_of_several && report.oom.count == 0 && tells_frees(report)) {
      ++without;
      return Document();
    }
    any = true;
    const Leaks leaks = leaks_for_oom(report, name);
    const NextStep next = next_step(report, leaks, given.file);
    given.next = next.words;
    given.next_file = next.file;
    const TriedInTrace tried = tried_in_trace(report, given.file);
    Document shown = oom_text(report, leaks, name, page, given.listing.rows());
    if (tried.trial) shown.append(tried_text(*tried.trial, tried.trace));
    Document others;
    others.sentence(others_text(report));
    shown.append_apart(others);
    return shown;
  };
  const auto json = [&](const Report& report) {
    const TriedInTrace tried = tried_in_trace(report, given.file);
    return oom_json(report, name, given.listing.rows(), tried.trial ? &*tried.trial : nullptr);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_oom_csv(rows, report, name, given.listing.rows());
  };
  given.opening = [&](const Page& page) {
    if (without == 0) return std::string();
    return sentence("Memory never ran out in " + counted(without, "report") + ".", page) +
           (any ? "" : next_command("report", given.files.front(), page));
  };
  given.columns = {names_of(oom_share_columns(Report(), {})),
                   names_of(oom_pin_columns(Report(), {}))};
  given.keep = keep_refusals_once;
  given.next = "owners";  // until the report is there
  return show(given, {text, json, csv});
}

}  // namespace

Verb add_oom(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("oom", "Explain why memory ran out");
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  add_full_option(command, arguments->stacks);
  arguments->use.subject = Subject::refusals;
  arguments->use.of_a_trace = "map --at oom";
  add_filters(command, arguments->filter, arguments->use);
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.footer(
      "Examples:\n"
      "  vramscope run ./train                        writes a report when memory runs out\n"
      "  vramscope oom vramscope.train.4711.json      what was requested, and what was live\n"
      "  vramscope oom --json vramscope.train.4711.json | jq '.events[0].hint'");
  return {.command = &command, .act = [arguments] { return show_oom(*arguments); }};
}

}  // namespace vramscope
