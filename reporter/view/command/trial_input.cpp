// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/trial_input.h"

#include <span>

#include "reporter/report/traces/trace_input.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

std::optional<TrialSteps> refused(const TellWhy& tell, const std::string& path,
                                  const std::string& problem) {
  tell("cannot read '" + path + "': " + problem);
  return std::nullopt;
}

std::optional<TrialSteps> refused_incomplete(const TellWhy& tell, const std::string& path,
                                             const std::string& what) {
  tell("'" + path + "' " + what + "; --partial plays what is there");
  return std::nullopt;
}

std::optional<TrialSteps> steps_of(const std::string& path, std::span<const std::byte> bytes,
                                   TraceOf whose, Incomplete incomplete, TrialPhase* phase,
                                   const TellWhy& tell, const std::string& alloc_conf = "") {
  const bool is_partial = incomplete == Incomplete::played;
  using Damage = TraceReader::Damage;
  TraceReader reader(bytes, is_partial ? Damage::left_out : Damage::refused);
  if (!reader.problem().empty()) return refused(tell, path, reader.problem());
  TrialSteps steps;
  const std::string problem = read_trial_steps(reader, whose, steps, phase);
  if (!problem.empty()) return refused(tell, path, problem);
  if (steps.requests == 0) {
    tell("'" + path + "' has no allocation: there is nothing to replay");
    return std::nullopt;
  }
  if (steps.gaps.begins_late && !is_partial) {
    return refused_incomplete(
        tell, path,
        "begins in the middle of a run: it frees memory whose allocation it does not have");
  }
  if (!alloc_conf.empty()) {
    steps.recorded.alloc_conf = alloc_conf;
    steps.recorded.are_known = true;
  }
  const MadeRow recorded = recorded_row(steps);
  if (recorded.row) return steps;
  tell("the settings of the run in '" + path + "': " + recorded.problem);
  return std::nullopt;
}

std::optional<TrialSteps> imported_steps(const std::string& path, Incomplete incomplete,
                                         TrialPhase* phase, const TellWhy& tell) {
  const std::variant<ImportedRun, FileError> read = read_import(path);
  const auto* const run = std::get_if<ImportedRun>(&read);
  if (run == nullptr) {
    tell(std::get<FileError>(read).message);
    return std::nullopt;
  }
  if (!run->has_history) {
    tell("'" + path +
         "' has no history of allocations and frees: there is nothing to replay "
         "(torch.cuda.memory._record_memory_history() records one)");
    return std::nullopt;
  }
  const bool is_partial = incomplete == Incomplete::played;
  if (run->begins_late && !is_partial) {
    return refused_incomplete(
        tell, path,
        "begins in the middle of a run: it frees memory whose allocation it does not have");
  }
  if (run->is_cut_off && !is_partial) {
    return refused_incomplete(tell, path, "ends in the middle of a line");
  }
  const std::string bytes = trace_of_import(*run);
  const TraceOf whose = is_memory_snapshot(path) ? TraceOf::pytorch : TraceOf::other;
  std::optional<TrialSteps> steps = steps_of(path, std::as_bytes(std::span(bytes)), whose,
                                             incomplete, phase, tell, run->alloc_conf);
  if (!steps) return steps;
  steps->gaps.begins_late |= run->begins_late;
  steps->gaps.is_cut_off |= run->is_cut_off;
  steps->gaps.earlier_allocations = run->earlier_allocations;
  return steps;
}

}  // namespace

std::optional<TrialSteps> open_trial(const std::string& path, Incomplete incomplete,
                                     TrialPhase* phase, const TellWhy& tell) {
  if (is_folder(path)) {
    tell("'" + path + "' is a folder: expected a trace");
    return std::nullopt;
  }
  if (is_import(path)) return imported_steps(path, incomplete, phase, tell);
  const TraceInput input(path);
  const bool has_rest = incomplete == Incomplete::played && !input.bytes().empty();
  if (!input.problem().empty() && !has_rest) return refused(tell, path, input.problem());
  return steps_of(path, input.bytes(), TraceOf::vramscope, incomplete, phase, tell);
}

void add_trial_files(Command& command, TrialArguments& arguments) {
  command.positional("FILE", &arguments.files,
                     "Traces, memory snapshots of PyTorch with history, or logs of RMM");
  command.flag("--partial", arguments.partial,
               "Play a trace that lacks the run's beginning or end");
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
    std::optional<TrialSteps> trace = open_trial(file, given.incomplete());
    if (!trace) return kBadInput;
    const std::string problem = show(file, *trace, shown);
    if (!problem.empty()) return refuse(problem);
  }
  return shown.publish();
}

}  // namespace vramscope
