// What a report says: the figures of the recorder, the allocator and the devices.
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>
#include <utility>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/call_time.h"
#include "interpose/base/clock.h"
#include "interpose/life/reports.h"
#include "interpose/loader/bypasses.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/cupti_session.h"
#include "interpose/tools/nvtx.h"
#include "interpose/tools/nvtx_memory.h"
#include "reporter/report/commit.h"
#include "reporter/report/parts.h"

namespace vramscope {
namespace {

constexpr const char* kEndedAmidCall =
    "a signal handler ended the process during a CUDA call: the report leaves out ";

}  // namespace

// Without the lock only counters can be read, no lists: a segment, a block or a call site may be
// partly entered.
void Reports::collect_memory(ReportParts& parts) {
  try {
    parts.memory = profiler_.allocator().snapshot();
    parts.cupti = cupti::facts(parts.memory);
  } catch (const LockLost&) {
    parts.memory = profiler_.allocator().counters_of_lost();
    parts.recorder.warnings.emplace_back(std::string(kEndedAmidCall) +
                                         "segments, blocks, call sites and kinds");
  }
}

// Called after the snapshot, so that every tag in it is known. Ranges are read after the tags that
// name them.
void Reports::collect_names(ReportParts& parts) {
  std::vector<std::string> warnings = std::move(parts.recorder.warnings);
  try {
    parts.recorder = profiler_.recorder().facts();
    if (const RangeTable* const named = ranges()) named->copy_to(parts.recorder);
    parts.named_memory = named_memory();
  } catch (const LockLost&) {
    parts.recorder = {};
    parts.memory.tags = {};
    warnings.emplace_back(std::string(kEndedAmidCall) + "functions and call sites");
  }
  for (std::string& line : warnings) parts.recorder.warnings.push_back(std::move(line));
}

void Reports::collect_devices(ReportParts& parts) {
  try {
    parts.devices = profiler_.used_devices().facts();
  } catch (const LockLost&) {
    parts.recorder.warnings.emplace_back(std::string(kEndedAmidCall) +
                                         "names and free memory of devices");
  }
}

void Reports::collect_refusals(ReportParts& parts) {
  try {
    oom_.describe(parts);
    parts.oom = oom_.report(parts);
  } catch (const LockLost&) {
    parts.recorder.warnings.emplace_back(std::string(kEndedAmidCall) + "allocations that failed");
  }
}

ReportParts Reports::collect(const char* trigger) {
  ReportParts parts;
  parts.trigger = trigger;
  parts.commit = commit_name();
  cupti::flush();
  call_time_ns = now_ns();
  oom_.begin_report();
  collect_memory(parts);
  if (parts.memory.start_ns == 0) parts.memory.start_ns = profiler_.started_ns();  // left out
  collect_names(parts);
  // The search takes the loader's lock, which the ending thread or the thread that waits for this
  // report may hold.
  if (!EndingThread::is_amid_call() && parts.trigger != "oom") {
    for (std::string& line : find_bypasses(comes_first())) {
      parts.recorder.warnings.push_back(std::move(line));
    }
    for (std::string& line : profiler_.backend().pages().problems()) {
      parts.recorder.warnings.push_back(std::move(line));
    }
  }
  if (std::string line = live_file_.problem(); !line.empty()) {
    parts.recorder.warnings.push_back(std::move(line));
  }
  parts.sample_bytes = profiler_.sample_bytes();
  collect_devices(parts);
  parts.trace = trace_.finish(trigger);
  if (!parts.trace.problem.empty()) {
    parts.recorder.warnings.push_back("the trace is not complete: " + parts.trace.problem);
  }
  parts.process = process();
  if (parts.memory.taken_ns != 0) {  // collecting names, devices and the trace took time
    parts.process.report_time_ns = wall_time_at(parts.memory.taken_ns);
  }
  parts.function_names.reserve(kFunctionCount);
  for (const FunctionRow& function : kFunctions) parts.function_names.emplace_back(function.symbol);
  return parts;
}

}  // namespace vramscope
