// Files of other tools that a fuzzer makes: PyTorch's snapshots, which begin as pickles do, and
// RMM's logs.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "reporter/view/import/imports.h"
#include "test/fuzz/fuzzed_file.h"

namespace vramscope {
namespace {

// What is counted from here on never falls below zero: whatever goes has come, with as many bytes.
void demand_balance(const ImportedRun& run) {
  std::unordered_multimap<Address, std::uint64_t> live;
  for (const ImportedEvent& event : run.events) {
    if (event.tag >= run.names.tags.size() || event.thread >= run.names.threads.size())
      std::abort();
    if (event.what == ImportedEvent::What::came) live.emplace(event.address, event.bytes);
    if (event.what != ImportedEvent::What::went) continue;
    const auto [begin, end] = live.equal_range(event.address);
    auto found = begin;
    while (found != end && found->second != event.bytes) ++found;
    if (found == end) std::abort();
    live.erase(found);
  }
}

void demand_whole(const ImportedRun& run) {
  std::size_t blocks = 0;
  for (const SegmentSnapshot& segment : run.segments) {
    if (segment.first_block != blocks) std::abort();
    blocks += segment.block_count;
  }
  if (blocks != run.blocks.size()) std::abort();
  for (const BlockSnapshot& block : run.blocks) {
    if (block.tag >= run.names.tags.size()) std::abort();
  }
  for (const TagFact& tag : run.names.tags) {
    if (tag.site >= run.names.sites.size()) std::abort();
  }
}

}  // namespace
}  // namespace vramscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const bool is_pickle = text.starts_with('\x80');
  ImportedRun run;
  const std::string problem = is_pickle ? read_torch_snapshot(text, run) : read_rmm_log(text, run);
  if (!problem.empty()) {
    demand_one_line(problem);
    return 0;
  }
  demand_balance(run);
  demand_whole(run);
  return 0;
}
