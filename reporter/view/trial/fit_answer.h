// fit_trace() finds how small a GPU may be on which a trace's program still completes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/trial/trial_rows.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// The step in which capacities are tried: what a driver gives at least.
inline constexpr std::uint64_t kFitStep = std::uint64_t{2} << 20;

// Where the trace does not say what contexts take: as on an H200 (driver 580.159.04).
inline constexpr std::uint64_t kUsualContextBytes = std::uint64_t{536'128} << 10;

struct FitRow {
  TrialRow row;
  // The least capacity with which the run completes; with kFitStep less it does not. Every GPU of
  // the trace has it. nullopt: with none.
  std::optional<std::uint64_t> least_bytes = {};
  TrialResult result = {};                   // with that capacity
  std::optional<TrialRefusal> refusal = {};  // with kFitStep less; nullopt: no memory at all
};

// A GPU that people have.
struct UsualGpu {
  std::string name;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::vector<UsualGpu> usual_gpus();

// What was tried on one of them.
struct GpuFit {
  UsualGpu gpu;
  std::optional<std::size_t> row = {};  // the first of FitAnswer::rows with which the run completes
  std::uint64_t missing_bytes = 0;      // where none does: of the least that any of them needs
};

struct FitAnswer {
  std::vector<FitRow> rows;  // the recording's settings first
  std::vector<GpuFit> gpus;
  std::uint64_t unrecorded_bytes = 0;  // most that contexts, code and others took of one GPU
  bool is_context_assumed = false;     // kUsualContextBytes
};

// May throw bad_alloc.
[[nodiscard]] FitAnswer fit_trace(const TrialSteps& trace, std::vector<TrialRow> rows,
                                  const TellShare& tell);

// What of a device is sought: its memory, or a limit that the program is given.
enum class Sought : bool { capacity, memory_limit };

// The least capacity, or limit on devices as in the row's settings, with which the run completes,
// in steps of kFitStep; nullopt: none does. May throw bad_alloc.
[[nodiscard]] std::optional<std::uint64_t> least_memory(const TrialSteps& trace,
                                                        const TrialRow& row, Sought sought,
                                                        const TellShare& tell);

// Adds kUsualContextBytes to each device where the trace does not say what else is used. Returns
// whether it did.
bool assume_contexts(TrialSteps& trace);

}  // namespace vramscope
