// Explains rows of the ledger.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/owners_words.h"

#include <algorithm>

#include "reporter/report/ledger_row.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

// What is used by nobody that is known.
std::string others_meaning(const Report& report) {
  const bool is_unified =
      std::any_of(report.devices.begin(), report.devices.end(),
                  [](const DeviceReport& device) { return device.facts.unified; });
  if (is_unified) {
    return "others: everything else that the machine uses, since unified memory is the host's: "
           "contexts, code, other processes, and what this process allocates without CUDA";
  }
  const bool are_measured =
      std::all_of(report.devices.begin(), report.devices.end(), [](const DeviceReport& device) {
        return is_measured(device.facts.measured_by) || device.facts.before_bytes;
      });
  const bool are_untold =
      std::any_of(report.devices.begin(), report.devices.end(), [](const DeviceReport& device) {
        return device.facts.measured_by == word_of(MeasuredBy::none);
      });
  if (are_measured)
    return "others: processes that NVML does not name, and memory that the driver keeps for all";
  return "others: " + std::string(kContextsAndOthers) + ". This report cannot tell them apart" +
         (are_untold ? ", because an earlier version wrote it or no context was left"
                     : ", because NVML was not asked; vramscope run asks it");
}

}  // namespace

// What the words of the rows mean that no call of the program explains.
Document owners_words(const Report& report, const std::vector<LedgerEntry>& rows) {
  const auto has = [&](LedgerRow what) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const LedgerEntry& row) { return row_of(row) == what; });
  };
  Document text;
  if (has(LedgerRow::before)) {
    text.paragraph(
        "from before: what the process held of the GPU when Vramscope was attached, by NVML "
        "(contexts, code, and memory that is not recorded), less what it has freed of it since");
  }
  if (has(LedgerRow::contexts) || has(LedgerRow::modules) || has(LedgerRow::exported) ||
      has(LedgerRow::unaccounted)) {
    text.paragraph(
        "unaccounted: memory that the driver keeps for contexts, for loaded code and its later "
        "needs (modules), and for other processes that import it (exported)");
  }
  if (has(LedgerRow::pools)) {
    text.paragraph(
        "pools: memory that the driver's pools keep beyond live memory: what the program freed "
        "with cudaFreeAsync, and the unused rest of their chunks. A synchronization releases "
        "memory above a pool's release threshold (cudaMemPoolAttrReleaseThreshold, 0 by default); "
        "cudaMemPoolTrimTo releases the rest, except beside blocks in use");
  }
  const auto is_rounded = [](const LedgerEntry& row) {
    return row.current_bytes != 0 && row.device_bytes > row.current_bytes;
  };
  if (std::any_of(rows.begin(), rows.end(), is_rounded)) {
    text.paragraph("BYTES counts whole pages of the driver; NOW above counts requested bytes");
  }
  const auto is_rest = [](const LedgerEntry& row) {  // and no process that NVML names
    return row_of(row) == LedgerRow::others && row.owner == words_of(LedgerRow::others).second;
  };
  if (!is_of_several(report) && std::any_of(rows.begin(), rows.end(), is_rest))
    text.paragraph(others_meaning(report));
  return text;
}

}  // namespace vramscope
