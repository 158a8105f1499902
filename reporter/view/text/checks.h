// checks_of() compares a report with limits, each process of one that was merged by itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// All in bytes but the numbers of allocations and refusals. Nothing: no such limit.
struct CheckLimits {
  std::optional<std::uint64_t> peak = {};   // requested, of each device
  std::optional<std::uint64_t> leak = {};   // never freed, all kinds, without what is suppressed
  std::optional<std::uint64_t> total = {};  // ever allocated, all kinds
  std::optional<std::uint64_t> allocations = {};
  // Of each device: segments and what the driver serves; and that with contexts and code.
  std::optional<std::uint64_t> reserved = {};
  std::optional<std::uint64_t> used = {};
  std::optional<std::uint64_t> refusals = {};  // calls that failed because memory ran out
};

// A place that is responsible: bytes that it holds or by which it grew, or its allocations.
struct CheckedSite {
  std::int64_t amount = 0;
  std::vector<std::string> frames;         // innermost first
  std::vector<std::int64_t> numbers = {};  // of its sites in the report's file
  SharedCallers callers = {};              // the same as `frames`
};

// The process that was judged; of all together pid is 0.
struct CheckedProcess {
  std::int64_t pid = 0;
  std::int64_t rank = -1;
  std::string words = {};  // "rank 3 (4711)", "train (4711)", "all 8 processes together"
};

// One kind of memory of several, at its own peak.
struct CheckedKind {
  Kind kind = Kind::device;
  std::string memory;  // "GPU 0 physical"
  std::uint64_t value = 0;
  std::uint64_t baseline = 0;
};

struct Check {
  std::string what;  // "peak of GPU 0"
  std::uint64_t value = 0;
  std::optional<std::uint64_t> at_least = {};  // where `value` is the most that it can have been
  bool is_least = false;  // `value` is the least that it can have been; the most is not known
  std::uint64_t limit = 0;
  std::optional<std::uint64_t> baseline = {};  // that the limit was made from
  bool is_exact_by_trace = false;              // the process's trace would tell it
  bool is_count = false;
  bool is_requested = true;  // these bytes; false: reserved or used ones
  bool adds_kinds = false;   // of several kinds of memory, whose own peaks `sites` are of
  std::vector<CheckedSite> sites = {};  // the largest first
  std::vector<CheckedKind> kinds = {};  // that `value` is of, where they are several
  CheckedProcess process = {};
  std::string died = {};  // "rank 3 (4711) died", of what was live then; "": nobody did
  [[nodiscard]] bool passed() const { return !is_least && value <= limit; }
};

// A process whose memory ran out.
struct OutOfMemory {
  CheckedProcess process;
  std::string file;
  std::uint64_t calls = 0;
};

// A process that was killed or died.
struct DeadProcess {
  CheckedProcess process;
  std::string file;
  std::string ended_by;  // a signal's name; "": nobody saw it
  std::string words;     // "rank 3 (4711) was killed by SIGKILL"
};

// A report that is not the last word on its run, in a sentence: what it says may be exceeded later.
struct Unfinished {
  std::string file;
  std::string why;  // "rank 3 (4711) went on: the report was written at a peak"
};

// The checks of one report, or of one with its baseline.
struct Checked {
  std::string file;
  std::string next;  // the command that tells more
  std::vector<Check> checks;
  std::size_t processes = 1;  // that the report is of
  std::vector<OutOfMemory> out_of_memory = {};
  std::vector<DeadProcess> deaths = {};
  std::vector<Unfinished> unfinished = {};  // which fails, whatever it says
  std::string together = {};                // what the processes of a merged report held, in words
  std::uint64_t suppressed = 0;             // bytes that were never freed, and do not count
  std::uint64_t cached = 0;                 // likewise: held by caches of frameworks
  bool is_unread = false;                   // nothing but `file` is known
};

// Of one process its own; of several by their own reports, which `naming` reads again, else of all
// together.
void add_device_limits(std::vector<Check>& checks, const Report& report, const std::string& file,
                       const CheckLimits& limits, const RunsNaming& naming);

// Says which processes died, or ran out of memory.
void add_ends(Checked& checked, const Report& report, const std::string& file);

// Says which processes went on after the report was written: after none whose trigger is not told.
void add_unfinished(Checked& checked, const Report& report, const std::string& file);

// "failed: 2 reports were written before their runs ended; checks passed up to then".
[[nodiscard]] std::string early_verdict(std::size_t reports, bool passed);

// What of these leaks a process of the merged report holds, the largest first. process: its index.
[[nodiscard]] std::vector<CheckedSite> leaked_sites(const Report& report, const Leaks& leaks,
                                                    std::size_t process, const NameFrame& name);

// Limits are for each process: of a report that was merged, its processes one by one, where it
// tells of each; else all of them together, and `process` says so. Which places are responsible for
// the peak of one process only its own report says, which `naming` reads again.
[[nodiscard]] Checked checks_of(const Report& report, const std::string& file,
                                const CheckLimits& limits, const Suppressions& suppressions,
                                const RunsNaming& naming);
// The peak of each device, all its kinds of memory together, and of each kind of the host's (of
// several processes sums of peaks), of several processes with ranks the peak of each
// beside that of the same rank, and what was never freed, may be so much above the baseline's. What
// a rank grew by only its own report and that of the baseline's rank say, which `naming` reads
// again.
[[nodiscard]] Checked checks_against(const Report& report, const Report& baseline,
                                     const std::string& file, std::uint64_t tolerance_percent,
                                     const Suppressions& suppressions, const RunsNaming& naming);

[[nodiscard]] CheckedProcess checked_process(const ProcessFacts& process);
// Of one that was not merged, its process.
[[nodiscard]] CheckedProcess all_processes(const Report& report);

// Of those that were the last word on their runs, and could be read.
[[nodiscard]] bool all_passed(const std::vector<Checked>& all);
[[nodiscard]] std::size_t unread_in(const std::vector<Checked>& all);
[[nodiscard]] std::size_t unfinished_in(const std::vector<Checked>& all);
// As all_passed(), whatever could not be read and whatever came later.
[[nodiscard]] bool no_check_failed(const std::vector<Checked>& all);

}  // namespace vramscope
