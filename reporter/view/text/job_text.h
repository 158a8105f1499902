// job_text() says above the processes what is to be known of their jobs: how many ranks have
// reports, who is missing, who was restarted, who does not fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/jobs.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A paragraph for each thing that is to be said.
[[nodiscard]] Document job_text(const std::vector<Job>& jobs);
[[nodiscard]] Columns<Job> job_columns();

// "rank 3", "ranks 3, 5 and 9", "ranks 0 to 5, 7 and 58 more": `most` of them by number.
[[nodiscard]] std::string ranks_list(const std::vector<std::int64_t>& ranks, std::size_t most = 8);

}  // namespace vramscope
