// Follows the recorder's root with every pointer checked.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recovery.h"

#include <stdexcept>

#include "reporter/record/reach.h"
#include "reporter/record/recorder_root.h"

namespace vramscope {

namespace {

constexpr std::uint64_t kMostFunctions = std::uint64_t{1} << 16;  // an event names one in 16 bits

}  // namespace

RecorderFacts recover_facts(const LiveHeader& header) {
  const Reach reach(header);
  const auto* const root =
      reach.at(static_cast<const RecorderRoot*>(header.recorder.load(std::memory_order_acquire)));
  if (root == nullptr) throw std::runtime_error("the process ended before it recorded anything");
  if (root->function_count > kMostFunctions) {
    throw std::runtime_error("the recorder's memory is damaged: too many functions");
  }
  RecorderFacts facts;
  facts.functions.resize(root->function_count);
  return facts;
}

}  // namespace vramscope
