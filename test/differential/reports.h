// Reports that a sequence asks for, and what the program itself knows when each is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/differential/world.h"

namespace vramscope::differential {

// Whether the program may ask once more, which it is taken to do. The same natively.
[[nodiscard]] bool may_ask_for_report();

// Asks by signal on the calling thread and waits until the report is there. What the program knows
// goes to a file of the same number, "PID.2.known".
void request_report(World& world);
// The same without waiting, and without a file: while other threads are at work.
void ask_for_report_soon(World& world);
void wait_for_reports(World& world);
// Before the process ends: what its last report must say.
void write_known_before_end(World& world);
// The same while other threads are at work: only that there will be a report is known.
void write_nothing_known_before_end(const World& world);
// The world's peaks are only a lower bound from now on: threads ran at the same time.
void note_threads_together();

}  // namespace vramscope::differential
