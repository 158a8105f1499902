// The heads of doctor: each looks at one subject and adds what it finds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "reporter/view/doctor/finding.h"

namespace vramscope {

// What doctor is asked about; neither a program nor a process: this machine.
struct Patient {
  std::string program;               // as typed for `run`; "": none
  pid_t pid = 0;                     // 0: none
  bool simulate = false;             // as with run --sim
  std::string simulated_model = {};  // as with run --sim-device; "": none
};

// Our library: found, and loadable from where it lies.
void examine_library(Findings& findings);
// What this build of the tool lacks.
void examine_build(Findings& findings);
// The settings in the environment, and where reports, traces and live files would go.
void examine_settings(const Patient& patient, Findings& findings);
void examine_output(const Patient& patient, Findings& findings);
// What else is preloaded, and signals that a program would inherit.
void examine_surroundings(Findings& findings);
// Names the simulator's folder in LD_LIBRARY_PATH, as `run --sim` does, and the model in its
// settings, for what is asked hereafter; a loader that runs already does not look there.
void show_simulator(const std::string& model);
// The driver, NVML, CUPTI, shared runtimes, by what the loader finds.
void examine_drivers(const Patient& patient, Findings& findings);
// What call stacks and their names need.
void examine_stacks(Findings& findings);
// Limits of the container, and rights.
void examine_container(Findings& findings);

// The file of a program: whether the library would be loaded into it, and sees its calls.
void examine_program(const Patient& patient, Findings& findings);
// A running process: whether it is recorded, and how to have a report now.
void examine_process(const Patient& patient, Findings& findings);

// All of them that concern the patient. Throws invalid_argument, one line, when there is no such
// program or process, or it may not be looked at.
[[nodiscard]] Findings examine(const Patient& patient);

// The version of the library in that file; "": it is none, or does not say.
[[nodiscard]] std::string version_of_library(const std::string& path);

// What a mapped library or a word of LD_PRELOAD is, by the name of its file.
[[nodiscard]] bool is_our_library(std::string_view path);

}  // namespace vramscope
