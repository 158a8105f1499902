// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/steering.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "allocator/base/abandoned_locks.h"
#include "interpose/base/clock.h"
#include "interpose/life/control_answers.h"
#include "interpose/life/process_trace.h"
#include "interpose/life/run_note.h"
#include "interpose/life/running_options.h"
#include "interpose/loader/repointing.h"
#include "interpose/settings/numbers.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/nvtx.h"
#include "reporter/report/json_writer.h"

namespace vramscope {
namespace {

std::unique_ptr<ControlAnswer> say(std::string line) {
  return std::make_unique<ControlText>(std::move(line));
}

std::unique_ptr<ControlAnswer> unused(std::uint16_t device) {
  return say(failure_line("the program has not used GPU " + std::to_string(device)));
}

std::uint64_t end_of(const ControlRequest& request) {
  return now_ns() + request.wait_ms * 1'000'000;
}

}  // namespace

constexpr Steering::Row Steering::kRows[] = {
    {"mark", &Steering::mark},
    {"report", &Steering::report},
    {"reset_peak_memory_stats", &Steering::reset_peaks},
    {"reset_max_memory_allocated", &Steering::reset_peaks},
    {"reset_max_memory_cached", &Steering::reset_peaks},
    {"reset_accumulated_memory_stats", &Steering::reset_accumulated},
    {"reset_accumulated_host_memory_stats", &Steering::reset_host},
    {"empty_cache", &Steering::empty_cache},
    {"get_memory_info", &Steering::memory_info},
    {"memory_snapshot", &Steering::snapshot},
    {"pause", &Steering::pause},
    {"resume", &Steering::resume},
    {"detach", &Steering::detach},
    {"set_limit", &Steering::set_limit},
    {"trace", &Steering::trace},
    {"set_option", &Steering::set_option},
};

std::unique_ptr<ControlAnswer> Steering::begin(const ControlRequest& request,
                                               std::atomic<bool>& writing) {
  static_assert(std::size(kRows) == std::size(kControlCommands));
  writing_ = &writing;
  for (const Row& row : kRows) {
    if (request.command == row.command) return (this->*row.act)(request);
  }
  return say(failure_line("this command is not known"));
}

bool Steering::has_used(std::uint16_t device) const {
  DeviceStatistics statistics;
  return profiler_.allocator().read_statistics(device, statistics);
}

std::unique_ptr<ControlAnswer> Steering::report(const ControlRequest&) {
  const GivesUpLostLocks gives_up;
  const auto written = reports_.write(reports_.context, *writing_);
  if (written.index() == 1) return say(failure_line(std::get<1>(written)));
  return say(success_line(",\"report\":" + json_string(std::get<0>(written))));
}

std::unique_ptr<ControlAnswer> Steering::mark(const ControlRequest& request) {
  RangeTable* const named = ranges_or_make();
  if (named == nullptr) return say(failure_line("marks cannot be kept"));
  named->mark(now_ns(), "", request.name);
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::reset_peaks(const ControlRequest& request) {
  if (!has_used(request.device)) return unused(request.device);
  vramscope::reset_peaks(profiler_, request.device);
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::reset_accumulated(const ControlRequest& request) {
  if (!has_used(request.device)) return unused(request.device);
  vramscope::reset_accumulated(profiler_, request.device);
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::reset_host(const ControlRequest&) {
  profiler_.allocator().reset_host_accumulated();
  profiler_.recorder().reset_host_accumulated();
  return say(success_line());
}

// Nothing is idle where the driver serves every call.
std::unique_ptr<ControlAnswer> Steering::empty_cache(const ControlRequest& request) {
  if (!profiler_.routes_device_memory()) return say(success_line());
  is_trimmed_.store(false, std::memory_order_relaxed);
  profiler_.allocator().trim(&is_trimmed_);
  return std::make_unique<PostedAnswer>(
      PostedAnswer::Parts{
          .is_done = [this] { return is_trimmed_.load(std::memory_order_acquire); },
          .done = [] { return success_line(); },
          .waits =
              [] {
                return failure_line(
                    "empty_cache waits for the program's next CUDA call that allocates or frees "
                    "device memory",
                    Failure::waits);
              }},
      end_of(request));
}

std::string Steering::info_line(std::uint16_t device, bool is_old) {
  const FreeMemory known = profiler_.backend().free_memory(device);
  const std::uint64_t now = now_ns();
  std::size_t free = known.free_bytes + profiler_.allocator().recoverable_bytes(device);
  std::size_t total = known.total_bytes;
  cut_to_capacity(profiler_.allocator(), device, &free, &total);
  return success_line((is_old ? ",\"waits\":true,\"free_bytes\":" : ",\"free_bytes\":") +
                      std::to_string(free) + ",\"total_bytes\":" + std::to_string(total) +
                      ",\"age_ns\":" + std::to_string(now - std::min(known.taken_ns, now)));
}

std::unique_ptr<ControlAnswer> Steering::memory_info(const ControlRequest& request) {
  const std::uint16_t device = request.device;
  CudaBackend& backend = profiler_.backend();
  if (backend.free_memory(device).taken_ns == 0) return unused(device);
  const std::uint64_t asked_ns = now_ns();
  backend.expire_sample(device);
  return std::make_unique<PostedAnswer>(
      PostedAnswer::Parts{
          .is_done = [=, &backend] { return backend.free_memory(device).taken_ns >= asked_ns; },
          .done = [=, this] { return info_line(device, false); },
          .waits = [=, this] { return info_line(device, true); }},
      end_of(request));
}

std::unique_ptr<ControlAnswer> Steering::snapshot(const ControlRequest&) {
  if (has_snapshot_.load()) {
    return say(failure_line("another client receives a snapshot; try again", Failure::busy));
  }
  const GivesUpLostLocks gives_up;
  try {
    return std::make_unique<SnapshotAnswer>(profiler_.allocator().snapshot(), has_snapshot_);
  } catch (const LockLost&) {
    return say(failure_line("the program is ending"));
  }
}

std::unique_ptr<ControlAnswer> Steering::pause(const ControlRequest&) {
  profiler_.stack_distance().store(Profiler::kNoStacks, std::memory_order_relaxed);
  profiler_.recorder().warn(
      "recording of call stacks was paused (vramscope ctl): call sites lack what was allocated "
      "meanwhile");
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::resume(const ControlRequest&) {
  profiler_.stack_distance().store(profiler_.sample_bytes(), std::memory_order_relaxed);
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::detach(const ControlRequest& request) {
  if (way_in() != WayIn::attached) {
    return say(failure_line("vramscope attach was not applied to it, so it stays recorded"));
  }
  point_to_driver();
  Answer answer = report(request);
  reports_.end(reports_.context);
  return answer;
}

std::unique_ptr<ControlAnswer> Steering::set_limit(const ControlRequest& request) {
  if (!has_used(request.device)) return unused(request.device);
  const bool is_limited = request.bytes != kNoLimit;
  const std::uint64_t limit = is_limited ? request.bytes : Limits::kUnlimited;
  profiler_.limit_capacity(request.device, limit);
  const std::string text = "the limit of GPU " + std::to_string(request.device) +
                           " was changed while the program ran (vramscope ctl): " +
                           (is_limited ? size_text(limit) : std::string("none"));
  profiler_.recorder().warn(text.c_str());
  return say(success_line());
}

std::unique_ptr<ControlAnswer> Steering::trace(const ControlRequest& request) {
  ProcessTrace& trace = *reports_.trace;
  const GivesUpLostLocks gives_up;
  std::string path = trace.path();
  if (request.path.empty()) {
    if (path.empty()) return say(failure_line("it writes no trace"));
    trace.stop();
  } else {
    const std::string problem = trace.begin_amid(request.path);
    if (!problem.empty()) return say(failure_line(problem));
    path = trace.path();
    note_trace(path);
    reports_.ring(reports_.context);  // from now on the helper has something to write
  }
  return say(success_line(",\"trace\":" + json_string(path)));
}

std::unique_ptr<ControlAnswer> Steering::set_option(const ControlRequest& request) {
  const std::string problem = reports_.options->set(request.name, request.value);
  if (!problem.empty()) return say(failure_line(problem));
  const std::string text = "the option " + request.name +
                           " was changed while the program ran (vramscope ctl): " + request.value;
  profiler_.recorder().warn(text.c_str());
  reports_.ring(reports_.context);
  return say(success_line());
}

}  // namespace vramscope
