// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/trial_input.h"

#include <span>

#include "reporter/report/traces/trace_input.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

std::optional<TrialSteps> refused(const std::string& path, const std::string& problem) {
  say("cannot read '" + path + "': " + problem);
  return std::nullopt;
}

std::optional<TrialSteps> steps_of(const std::string& path, std::span<const std::byte> bytes,
                                   TraceOf whose) {
  TraceReader reader(bytes, TraceReader::Damage::refused);
  if (!reader.problem().empty()) return refused(path, reader.problem());
  TrialSteps steps;
  const std::string problem = read_trial_steps(reader, whose, steps);
  if (!problem.empty()) return refused(path, problem);
  if (steps.requests == 0) {
    say("'" + path + "' has no allocation: there is nothing to replay");
    return std::nullopt;
  }
  return steps;
}

}  // namespace

std::optional<TrialSteps> open_trial(const std::string& path) {
  if (is_folder(path)) {
    say("'" + path + "' is a folder: expected a trace");
    return std::nullopt;
  }
  if (is_import(path)) {
    const std::variant<ImportedRun, FileError> read = read_import(path);
    const auto* const run = std::get_if<ImportedRun>(&read);
    if (run == nullptr) {
      say(std::get<FileError>(read).message);
      return std::nullopt;
    }
    if (!run->has_history) {
      say("'" + path +
          "' has no history of allocations and frees: there is nothing to replay "
          "(torch.cuda.memory._record_memory_history() records one)");
      return std::nullopt;
    }
    const std::string bytes = trace_of_import(*run);
    const TraceOf whose = is_memory_snapshot(path) ? TraceOf::pytorch : TraceOf::other;
    return steps_of(path, std::as_bytes(std::span(bytes)), whose);
  }
  const TraceInput input(path);
  if (!input.problem().empty()) return refused(path, input.problem());
  return steps_of(path, input.bytes(), TraceOf::vramscope);
}

int ShownTrials::publish() {
  return vramscope::publish(listing_, listing_.json ? json_.end().text() : text_);
}

int show_trials(TrialArguments& given, const std::vector<std::string>& columns,
                const ShowTrial& show) {
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({columns});
  ShownTrials shown(given.listing);
  for (const std::string& file : given.files) {
    std::optional<TrialSteps> trace = open_trial(file);
    if (!trace) return kBadInput;
    const std::string problem = show(file, *trace, shown);
    if (!problem.empty()) return refuse(problem);
  }
  return shown.publish();
}

}  // namespace vramscope
