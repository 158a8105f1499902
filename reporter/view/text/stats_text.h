// stats_text() lists the statistics of a report under PyTorch's names, stats_json() as
// dictionaries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;

// All devices and the host, or one device only.
struct StatsOf {
  std::optional<unsigned> device;
  std::size_t most = 0;   // keys of each dictionary; 0: all
  std::string sort = {};  // as in RowChoice
};

// A counter of a device; of the host without one.
struct StatsRow {
  std::optional<std::uint64_t> device;
  std::string name;
  std::int64_t value = 0;
};
[[nodiscard]] Columns<StatsRow> stats_columns();

// "key  value" under one title for each dictionary; nothing where the report has no such device.
[[nodiscard]] Document stats_text(const Report& report, const StatsOf& of, const Page& page);

// Keys that a dictionary of a device has whatever was used.
inline constexpr std::string_view kKeysOfEveryDevice[] = {"allocated_bytes.all.current",
                                                          "num_ooms"};

// What stats_json() writes of all devices.
[[nodiscard]] Columns<Report> stats_fields(const StatsOf& of);

// {"devices": {"0": {...}}, "host": {...}}; of one device its dictionary alone, as
// torch.cuda.memory_stats has it. nullopt: the report has no such device.
[[nodiscard]] std::optional<std::string> stats_json(const Report& report, const StatsOf& of);

// A row for each counter. False: the report has no such device.
[[nodiscard]] bool add_stats_csv(CsvText& csv, const Report& report, const StatsOf& of);

}  // namespace vramscope
