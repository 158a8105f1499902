// make_axes() attributes what the allocator counted by tag to owners, threads, streams, ranges,
// functions and sizes; make_timeline() and make_ledger() make the timeline and the ledger, which
// adds up to the device's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// Returns the text of an axis's value, or "unknown", "none" or "others" for a value that names
// nothing.
[[nodiscard]] std::string value_text(const ReportParts& parts, Axis axis, std::uint32_t value);
// Returns the text of the value that a tag has; "unknown" for the unknown tag.
[[nodiscard]] std::string value_of_tag(const ReportParts& parts, Axis axis, Tag tag);

// Returns "loader 4712", a value of Axis::thread.
[[nodiscard]] std::string thread_text(const ThreadFact& thread);

// Sorts by axis, device and kind, then the largest at the peak first. May throw bad_alloc, like all
// functions here.
void sort_axes(std::vector<AxisEntry>& axes);
// Returns the entries of all axes, sorted by sort_axes().
[[nodiscard]] std::vector<AxisEntry> make_axes(const ReportParts& parts);

// Returns the outermost frames of each known thread, numbered as by the recorder. They are taken
// from the thread's first tag that has a stack. May throw bad_alloc.
[[nodiscard]] std::vector<ThreadStart> make_threads(const RecorderFacts& facts);

[[nodiscard]] TimelineFacts make_timeline(const ReportParts& parts);

// Returns entries sorted by device: first the recorded memory by kind and owner, then what is known
// of the rest.
[[nodiscard]] std::vector<LedgerEntry> make_ledger(const ReportParts& parts,
                                                   const std::vector<AxisEntry>& axes);

}  // namespace vramscope
