// moment_text() shows what was live at one instant of a run: by kind of memory, owner and call
// site.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/moment_answer.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// The rows of what was live in the order that is asked for.
void arrange_live(MomentAnswer& answer, const Report& report, const NameFrame& name,
                  const RowChoice& choice);

// What moment_json() says. The report outlives them.
[[nodiscard]] Columns<MomentAnswer> moment_fields(const Report& report, const NameFrame& name,
                                                  std::size_t most);

// answer: of the report, which outlives the text; arranged. JSON ends with a newline.
[[nodiscard]] Document moment_text(const Report& report, const MomentAnswer& answer,
                                   const NameFrame& name, const Page& page,
                                   const RowChoice& choice);
[[nodiscard]] std::string moment_json(const Report& report, const MomentAnswer& answer,
                                      const NameFrame& name, std::size_t most);

}  // namespace vramscope
