// LedgerRow classifies the rows of the ledger that no allocation explains. A report stores their
// words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reporter/report/report.h"

namespace vramscope {

enum class LedgerRow : std::uint8_t {
  memory,       // of allocations; the row's kind is a kind of memory
  cached,       // freed and kept by our cache; for an import, by its owner's cache
  pools,        // freed and kept by the driver's pools
  contexts,     // kept by the driver for contexts of this process
  modules,      // kept by the driver for their code and variables
  exported,     // kept by the driver for handles to memory of others
  before,       // held by this process when Vramscope was attached, contexts and code included
  unaccounted,  // used for anything else
  others,       // used by other processes, or by nobody that is known
};

inline constexpr const char* kUnaccounted = "unaccounted";

// Returns kind and owner of a row as in FORMAT.md, for rows with one owner.
[[nodiscard]] constexpr std::pair<const char*, const char*> words_of(LedgerRow row) {
  switch (row) {
    case LedgerRow::cached:
      return {"cached", "vramscope"};
    case LedgerRow::pools:
      return {"cached", "pools"};
    case LedgerRow::contexts:
      return {kUnaccounted, "contexts"};
    case LedgerRow::modules:
      return {kUnaccounted, "modules"};
    case LedgerRow::exported:
      return {kUnaccounted, "exported"};
    case LedgerRow::before:
      return {kUnaccounted, "from before"};
    case LedgerRow::others:
      return {"others", "others"};
    case LedgerRow::memory:
    case LedgerRow::unaccounted:
      break;
  }
  return {"", ""};
}

// Returns the owner of a row of `others`: a process that NVML names, "4711 (python3)".
[[nodiscard]] inline std::string process_name(const DeviceProcess& process) {
  return std::to_string(process.pid) + (process.name.empty() ? "" : " (" + process.name + ")");
}

[[nodiscard]] constexpr bool has_kind_of(LedgerRow row, std::string_view kind) {
  return kind == words_of(row).first;
}

[[nodiscard]] constexpr LedgerRow row_of(std::string_view kind, std::string_view owner) {
  for (const LedgerRow row : {LedgerRow::pools, LedgerRow::contexts, LedgerRow::modules,
                              LedgerRow::exported, LedgerRow::before}) {
    if (has_kind_of(row, kind) && owner == words_of(row).second) return row;
  }
  if (has_kind_of(LedgerRow::cached, kind)) return LedgerRow::cached;
  if (has_kind_of(LedgerRow::others, kind)) return LedgerRow::others;
  return kind == kUnaccounted ? LedgerRow::unaccounted : LedgerRow::memory;
}

[[nodiscard]] constexpr LedgerRow row_of(const LedgerEntry& entry) {
  return row_of(entry.kind, entry.owner);
}

}  // namespace vramscope
