// vramscope doctor: why is nothing recorded, and what to do about it?
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include "reporter/view/command/publish_rows.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/doctor/findings_text.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> words;
  bool simulate = false;
  std::string simulated_model;
  Listing listing;
};

bool is_number(const std::string& word) {
  return word.find_first_not_of("0123456789") == word.npos && word.size() < 10;
}

Patient patient_of(const Arguments& arguments) {
  Patient patient;
  patient.simulate = arguments.simulate;
  patient.simulated_model = arguments.simulated_model;
  if (arguments.words.empty()) return patient;
  const std::string& word = arguments.words.front();
  if (is_number(word)) {
    patient.pid = std::atoi(word.c_str());
  } else {
    patient.program = word;
  }
  return patient;
}

std::string next_of(const Patient& patient, const Findings& findings) {
  if (findings.count(FindingState::stops) != 0) return "";
  if (patient.pid != 0) return "\nNext: vramscope snapshot " + std::to_string(patient.pid) + "\n";
  const std::string program = patient.program.empty() ? "PROGRAM" : shell_word(patient.program);
  const std::string model =
      patient.simulated_model.empty() ? "" : "--sim-device " + patient.simulated_model + " ";
  return std::string("\nNext: vramscope run ") + (patient.simulate ? "--sim " : "") + model +
         program + "\n";
}

int publish_findings(const Patient& patient, Listing& listing) {
  Findings findings;
  const auto examined = [&] {
    findings = examine(patient);
    return findings.in_order();
  };
  const auto text = [&](const std::vector<Finding>& shown, const Page& page) {
    return findings_text(findings, shown, page) + next_of(patient, findings);
  };
  const int written = publish_rows<Finding>(listing, examined, finding_columns(), text);
  if (written != kFine) return written;
  return findings.count(FindingState::stops) == 0 ? kFine : kStops;
}

int examine_and_show(Arguments& arguments) {
  if (arguments.words.size() > 1) {
    return refuse("doctor takes one program, without its arguments, or one process; '" +
                  arguments.words[1] + "' is too many");
  }
  if (!arguments.words.empty() && is_number(arguments.words[0]) &&
      std::atoi(arguments.words[0].c_str()) == 0) {
    return refuse("'" + arguments.words[0] + "' is no number of a process");
  }
  return publish_findings(patient_of(arguments), arguments.listing);
}

}  // namespace

Verb add_doctor(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("doctor", "Find out why nothing is recorded");
  command.words("PROGRAM|PID", arguments->words,
                "A program, or a running process; default: this machine");
  command.flag("--sim", arguments->simulate,
               "Check whether recording works on the simulated device; see run --sim");
  add_simulated_model(command, arguments->simulated_model);
  add_listing_options(command, arguments->listing);
  command.footer(
      "Each line is a finding: first what prevents recording, then what limits it. doctor changes "
      "nothing and does not start the program. It takes settings from the environment "
      "(VRAMSCOPE_OUTPUT, ...).\n"
      "The exit status is 0 if nothing prevents recording, 1 if something does, and 2 if the "
      "program or process does not exist.\n"
      "Examples:\n"
      "  vramscope doctor ./train                    would it be recorded?\n"
      "  vramscope doctor --sim ./train              and without a GPU?\n"
      "  vramscope doctor 4711                       is it recorded, and how do I get a report "
      "now?\n"
      "  vramscope doctor --json | jq -r '.[] | select(.state == \"stops\").found'");
  return {.command = &command, .act = [arguments] { return examine_and_show(*arguments); }};
}

}  // namespace vramscope
