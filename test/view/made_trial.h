// Hand-made steps of a program, which tests play through the allocator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/format.h"
#include "reporter/view/trial/trial_steps.h"

namespace vramscope {

// Writes steps. Slots are numbers that the caller chooses; all memory is device memory of one place
// unless said otherwise.
class MadeTrial {
 public:
  explicit MadeTrial(std::uint64_t total_bytes = 0);
  MadeTrial& allocate(std::uint32_t slot, std::uint64_t bytes, Place where = {});
  MadeTrial& free(std::uint32_t slot);
  // Of a request that the recording refused.
  MadeTrial& refuse(std::uint64_t bytes);
  MadeTrial& use(std::uint64_t unrecorded_bytes, std::uint16_t device = 0);
  MadeTrial& end(Place where);
  [[nodiscard]] TrialSteps steps() const { return steps_; }

 private:
  std::uint16_t place(Place where);
  MadeTrial& add(TrialStep step);

  TrialSteps steps_;
  std::uint64_t total_bytes_;
};

// A program of 2 GiB in rounds, of which each asks for other sizes, on a device of 4 GiB.
[[nodiscard]] TrialSteps golden_trial();

// What golden/ shows of it.
[[nodiscard]] std::string replay_of_golden(const Page& page);
[[nodiscard]] std::string fit_of_golden(const Page& page);
[[nodiscard]] std::string tune_of_golden(const Page& page);
[[nodiscard]] std::string phase_of_golden(const Page& page);
[[nodiscard]] std::string scale_of_golden(const Page& page);

}  // namespace vramscope
