// Whether a running process is recorded, with which settings, and how to have a report of it.
// SPDX-License-Identifier: Apache-2.0
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "interpose/settings/options.h"
#include "interpose/settings/private_variables.h"
#include "reporter/report/files/file_name.h"
#include "reporter/view/doctor/attachment.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/doctor/process_files.h"
#include "reporter/view/system/host.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/target.h"

namespace vramscope {
namespace {

constexpr const char* kProcessSubject = "process";
constexpr const char* kStart = "start it with vramscope run";

bool runs_under_us(pid_t pid) {
  const std::optional<TargetFiles> files = read_target(pid);
  return files && files->maps.find("/libvramscope.so") != std::string::npos;
}

void examine_absence(pid_t pid, const ProcessFiles& process, Findings& findings) {
  const std::string who = "process " + std::to_string(pid) + " (" + process.program() + ") ";
  const std::string by_file = why_not_by_file(process.program());
  if (!by_file.empty()) {
    return findings.stops(kProcessSubject, who + by_file + ": the library is not loaded into it",
                          "see vramscope doctor " + process.program());
  }
  const std::string preloads = process.variable("LD_PRELOAD").value_or("");
  if (preloads.find("libvramscope.so") != preloads.npos) {
    return findings.stops(kProcessSubject,
                          who + "has LD_PRELOAD=" + preloads + ", but not the library",
                          "look for the loader's line on its stderr: the file may not be there");
  }
  const pid_t parent = process.parent();
  if (parent > 0 && runs_under_us(parent)) {
    return findings.stops(kProcessSubject,
                          who + "runs without the library, although its parent " +
                              std::to_string(parent) +
                              " has it: LD_PRELOAD was removed from the child's environment",
                          "start vramscope run after the command that clears the environment");
  }
  const std::vector<pid_t> children = process.children();
  const auto child = std::find_if(children.begin(), children.end(), runs_under_us);
  if (child != children.end()) {
    return findings.stops(
        kProcessSubject,
        who + "runs without the library, but its child " + std::to_string(*child) + " has it",
        "vramscope doctor " + std::to_string(*child));
  }
  const std::string why = why_not_attachable(pid, process);
  const std::string attach = "vramscope attach " + std::to_string(pid);
  if (why.empty()) {
    return findings.stops(kProcessSubject, who + "runs without the library",
                          attach + ", or " + kStart);
  }
  findings.stops(kProcessSubject, who + "runs without the library; attach cannot help: " + why,
                 kStart);
}

void examine_loaded(const std::string& path, Findings& findings) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    return findings.limits("library", path + ": it was replaced since the process started",
                           kStart + std::string(" again"));
  }
  const std::string version = version_of_library(path);
  if (version == VRAMSCOPE_VERSION) {
    return findings.fine("library", path + ", version " + version + ", is loaded");
  }
  findings.limits(
      "library",
      path + (version.empty() ? " does not say its version" : " is of version " + version) +
          ", this tool is of " VRAMSCOPE_VERSION,
      "use the tool of its installation");
}

void examine_driver_of(const ProcessFiles& process, Findings& findings) {
  const auto drivers = process.mapped("libcuda.so");
  if (drivers.empty()) {
    return findings.limits("driver", "none is loaded so far: there is nothing to record yet",
                           "wait for its first call of CUDA");
  }
  if (drivers.size() > 1) {
    findings.limits("driver", "two are loaded, " + drivers[0] + " and " + drivers[1],
                    "calls into the second go unrecorded: see the report's warnings");
  }
  if (!process.is_recording()) {
    return findings.limits("driver", drivers[0] + " is loaded, and not started yet",
                           "wait for its first call of CUDA");
  }
  findings.fine("driver", drivers[0] + " is started, and its calls are recorded");
}

void examine_runtimes_of(const ProcessFiles& process, Findings& findings) {
  std::string found;
  for (const std::string& path : process.mapped("libcudart.so")) {
    found += (found.empty() ? "" : ", ") + path;
  }
  if (found.empty()) return findings.fine("runtimes", "none is loaded as a library");
  findings.fine("runtimes", found);
}

void examine_settings_of(const ParseResult& parsed, Findings& findings) {
  std::string list;
  for (const auto& [name, value] : echo(parsed.options)) {
    if (name == "mode" || name == "policy" || name == "signal" || name == "stacks" ||
        name == "trace") {
      if (!value.empty()) list += (list.empty() ? "" : ", ") + name + " " + value;
    }
  }
  for (const std::string& problem : parsed.problems) {
    findings.limits("settings", problem, "see vramscope options");
  }
  if (parsed.options.mode == Mode::off) {
    return findings.stops("settings", "VRAMSCOPE_MODE=off: nothing is recorded", kStart);
  }
  findings.fine("settings", list);
}

void examine_end(pid_t pid, const ProcessFiles& process, const Options& options,
                 Findings& findings) {
  if (!options.report_at_exit) {
    return findings.limits("end", "it writes no report (VRAMSCOPE_REPORT_AT_EXIT=off)",
                           "vramscope snapshot " + std::to_string(pid));
  }
  const NameFacts facts{
      .pid = pid,
      .hostname = this_host(),
      .executable = process.program(),
      .arguments = options.redact ? std::vector<std::string>() : process.arguments()};
  const auto none = [](const char*) -> char* { return nullptr; };
  const std::string name = expand_pattern(options.output, facts, none);
  const std::string path = name.starts_with('/') ? name : process.files().folder + "/" + name;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const bool is_known = options.output.find("%{") == std::string::npos &&
                        options.output_folder.find('%') == std::string::npos;
  if (is_known && access(folder.c_str(), W_OK) != 0) {
    return findings.stops("end", "no report can be written in " + folder,
                          "make that folder, and let the process write there");
  }
  findings.fine("end", "it writes " + path);
}

void examine_now(pid_t pid, const ProcessFiles& process, const Options& options,
                 Findings& findings) {
  const std::string snapshot = "vramscope snapshot " + std::to_string(pid);
  const std::string name = text(options.signal);
  if (!process.is_recording()) return;
  if (process.blocks(options.signal.number)) {
    return findings.limits("signal",
                           "every thread blocks " + name + ", so it cannot request a report",
                           "start it with run --signal SIGUSR2; vramscope recover --wait 0 " +
                               std::to_string(pid) + " copies what it has");
  }
  const Target target = inspect(pid, 0, process.files());
  if (!target.error.empty()) return findings.limits("signal", target.error, kStart);
  if (!target.hint.empty()) return findings.limits("signal", target.hint, snapshot);
  findings.fine("signal", name + " makes it write a report now", snapshot);
}

}  // namespace

void examine_process(const Patient& patient, Findings& findings) {
  const ProcessFiles process(patient.pid);
  const auto loaded = process.mapped("libvramscope.so");
  if (loaded.empty()) return examine_absence(patient.pid, process, findings);
  for (const std::string& path : loaded) examine_loaded(path, findings);
  const auto variables = process.variables();
  const ParseResult parsed = parse_options(collect_settings(variables.data()));
  examine_settings_of(parsed, findings);
  examine_driver_of(process, findings);
  examine_runtimes_of(process, findings);
  examine_end(patient.pid, process, parsed.options, findings);
  examine_now(patient.pid, process, parsed.options, findings);
}

}  // namespace vramscope
