// owners_text() shows whose memory is, at the peak and when the report was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// A row of the ledger, with what its owner held of the kind when all of that was at its peak on the
// device: requested bytes; nothing: not known, or no call asked for it.
struct OwnerRow {
  LedgerEntry entry;
  std::string memory = {};  // for a reader: memory_name(), or the kind
  std::optional<std::uint64_t> at_peak = {};
};

[[nodiscard]] Columns<OwnerRow> owner_columns();
// All of these rows.
[[nodiscard]] Column<Report> ledger_field(const char* doc, const RowChoice& choice);
// What owners_json() writes. The report outlives them.
[[nodiscard]] Columns<Report> owners_fields(const Report& report, const RowChoice& choice);

// Each text and JSON ends with a newline.
[[nodiscard]] std::string owners_text(const Report& report, const Page& page,
                                      const RowChoice& choice, const NameFrame& name = {});
[[nodiscard]] std::string owners_json(const Report& report, const RowChoice& choice);
void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice);

}  // namespace vramscope
