// The functions here tell what the allocator counted by tag by owner, thread, stream, range,
// function and size; and make the timeline and the ledger that adds up to the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// What a value of an axis is called; "unknown", "none" and "others" where it names nothing.
[[nodiscard]] std::string value_text(const ReportParts& parts, Axis axis, std::uint32_t value);
// The same of the value that a tag has; "unknown" for the unknown tag.
[[nodiscard]] std::string value_of_tag(const ReportParts& parts, Axis axis, Tag tag);

// "loader 4712", a value of Axis::thread.
[[nodiscard]] std::string thread_text(const ThreadFact& thread);

// By axis, device and kind, then the largest at the peak first. May throw bad_alloc, as all here.
void sort_axes(std::vector<AxisEntry>& axes);
// In that order.
[[nodiscard]] std::vector<AxisEntry> make_axes(const ReportParts& parts);

// Of each thread that is known the outermost frames, as the recorder numbers them, of the first tag
// with a stack that it got. May throw bad_alloc.
[[nodiscard]] std::vector<ThreadStart> make_threads(const RecorderFacts& facts);

[[nodiscard]] TimelineFacts make_timeline(const ReportParts& parts);

// Sorted by device; first what was recorded, by kind and owner, then what is known of the rest.
[[nodiscard]] std::vector<LedgerEntry> make_ledger(const ReportParts& parts,
                                                   const std::vector<AxisEntry>& axes);

}  // namespace vramscope
