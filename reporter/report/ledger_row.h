// LedgerRow is what a row of the ledger is of that no allocation tells. A report keeps the words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reporter/report/report.h"

namespace vramscope {

enum class LedgerRow : std::uint8_t {
  memory,       // of allocations; its kind is one of memory
  cached,       // freed, and kept by our cache; of an import by that of its owner
  pools,        // freed, and kept by the driver's pools
  contexts,     // the driver keeps it for contexts of this process,
  modules,      // for their code and variables,
  exported,     // and for handles to memory of others
  unaccounted,  // for anything else
  others,       // nobody that is known
};

inline constexpr const char* kUnaccounted = "unaccounted";

// Its kind and owner, as FORMAT.md has them; of those that one owner has.
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
    case LedgerRow::others:
      return {"others", "others"};
    case LedgerRow::memory:
    case LedgerRow::unaccounted:
      break;
  }
  return {"", ""};
}

// The owner of a row of others: a process that NVML names, "4711 (python3)".
[[nodiscard]] inline std::string process_name(const DeviceProcess& process) {
  return std::to_string(process.pid) + (process.name.empty() ? "" : " (" + process.name + ")");
}

[[nodiscard]] constexpr bool has_kind_of(LedgerRow row, std::string_view kind) {
  return kind == words_of(row).first;
}

[[nodiscard]] constexpr LedgerRow row_of(std::string_view kind, std::string_view owner) {
  for (const LedgerRow row :
       {LedgerRow::pools, LedgerRow::contexts, LedgerRow::modules, LedgerRow::exported}) {
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
