// Which heads look at what, in which order.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/examinations.h"

namespace vramscope {

Findings examine(const Patient& patient) {
  Findings findings;
  if (patient.pid != 0) {
    examine_process(patient, findings);
    return findings;
  }
  if (patient.simulate) show_simulator(patient.simulated_model);
  // First what would be a mistake of the caller's: no such program.
  if (!patient.program.empty()) examine_program(patient, findings);
  examine_library(findings);
  examine_build(findings);
  examine_drivers(patient, findings);
  examine_settings(patient, findings);
  examine_output(patient, findings);
  examine_environment(findings);
  examine_stacks(findings);
  examine_container(findings);
  return findings;
}

}  // namespace vramscope
