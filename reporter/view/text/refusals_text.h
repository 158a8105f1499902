// How often memory ran out, in the words of every listing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct DeviceReport;
struct Report;

// "Vramscope asked the driver again 3 times; during the run its cache released 2 idle segments":
// what went back for each refusal is not recorded.
[[nodiscard]] std::string retries_text(const Report& report, const DeviceReport& device);

// Of one device: "out of memory 2 times; Vramscope asked the driver again 3 times"; "": neither.
[[nodiscard]] std::string trouble_text(const Report& report, const DeviceReport& device);

// "out of memory 2 times" or "1 more refusal of other memory": those that no device counts, since
// they were of other memory than plain device memory, or the report is of before that; "": none.
[[nodiscard]] std::string other_refusals(const Report& report);

// "memory never ran out", or that a snapshot without history does not tell.
[[nodiscard]] std::string never_ran_out(const Report& report);

}  // namespace vramscope
