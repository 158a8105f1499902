// owners_text() shows whose memory is, at the peak and when the report was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/owners.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/history.h"

namespace vramscope {

[[nodiscard]] Columns<OwnerRow> owner_columns(RunHistory history);
// All of these rows.
[[nodiscard]] Column<Report> ledger_field(const char* doc, const Report& report,
                                          const RowChoice& choice);
// What owners_json() writes. The report outlives them.
[[nodiscard]] Columns<Report> owners_fields(const Report& report, const RowChoice& choice);

// The rows in the order that is asked for.
void arrange_owners(OwnersAnswer& answer, const Report& report, const RowChoice& choice);

// Each text and JSON ends with a newline. answer: of the report, arranged. most: rows of each
// table; 0: all.
[[nodiscard]] Document owners_text(const Report& report, const OwnersAnswer& answer,
                                   const Page& page, std::size_t most);
[[nodiscard]] std::string owners_json(const Report& report, const RowChoice& choice);
void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice);

}  // namespace vramscope
