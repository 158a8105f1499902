// The examine functions of doctor: each examines one subject and adds its findings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "reporter/view/doctor/finding.h"

namespace vramscope {

// What doctor examines; without a program and a process it is this machine.
struct Patient {
  std::string program;               // as typed for `run`; "": none
  pid_t pid = 0;                     // 0: none
  bool simulate = false;             // as with run --sim
  std::string simulated_model = {};  // as with run --sim-device; "": none
};

// Examines our library: whether it is found, and can be loaded from its path.
void examine_library(Findings& findings);
// Reports what this build of the tool lacks.
void examine_build(Findings& findings);
// Examine the settings in the environment, and where reports, traces and live files would be
// written.
void examine_settings(const Patient& patient, Findings& findings);
void examine_output(const Patient& patient, Findings& findings);
// Examines other preloaded objects, and signals that a program would inherit.
void examine_environment(Findings& findings);
// Adds the simulator's folder to LD_LIBRARY_PATH, as `run --sim` does, and the model to its
// settings, for later examinations. A loader that already runs does not search that folder.
void show_simulator(const std::string& model);
// Examines the driver, NVML, CUPTI and shared runtimes that the loader finds.
void examine_drivers(const Patient& patient, Findings& findings);
// Examines what call stacks and their names need.
void examine_stacks(Findings& findings);
// Examines limits of the container, and rights.
void examine_container(Findings& findings);

// Examines a program's file: whether the library would be loaded into it and sees its calls.
void examine_program(const Patient& patient, Findings& findings);
// Examines a running process: whether it is recorded, and how to get a report now.
void examine_process(const Patient& patient, Findings& findings);

// Runs all examinations that concern the patient. Throws invalid_argument with one line if the
// program or process does not exist, or may not be examined.
[[nodiscard]] Findings examine(const Patient& patient);

// Returns the version of the library in that file, or "" if it is not our library or has no
// version.
[[nodiscard]] std::string version_of_library(const std::string& path);

// Returns whether a mapped library or a word of LD_PRELOAD is our library, by its file name.
[[nodiscard]] bool is_our_library(std::string_view path);

}  // namespace vramscope
