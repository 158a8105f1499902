// Composition root.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/profiler.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "allocator/ground/call_time.h"
#include "allocator/ground/fault.h"
#include "allocator/ground/uncancelled.h"
#include "interpose/driver/device_facts.h"
#include "interpose/ground/clock.h"
#include "interpose/ground/fork_mark.h"
#include "interpose/ground/guard.h"
#include "interpose/ground/message.h"
#include "interpose/life/signals.h"
#include "interpose/loader/bypasses.h"
#include "interpose/loader/loader.h"
#include "interpose/loader/real.h"
#include "interpose/settings/alloc_conf.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/cupti_session.h"
#include "interpose/tools/nvtx.h"
#include "reporter/report/file_name.h"
#include "reporter/report/json.h"

namespace vramscope {
namespace {

// Never destroyed: the program may call CUDA from its last handler.
alignas(Profiler) constinit std::byte storage[sizeof(Profiler)] = {};

constinit std::atomic<pid_t> owner{0};
constinit std::atomic_flag starting = ATOMIC_FLAG_INIT;

// The profiler, if this process owns the record: not a child of fork or vfork.
Profiler* owned() noexcept {
  Profiler* profiler = Profiler::active();
  const bool is_owner = owner.load(std::memory_order_relaxed) == getpid();
  const bool ours = profiler != nullptr && (is_owner || fault(Fault::vfork_child_reports));
  return ours ? profiler : nullptr;
}

// Says what of the settings string has no effect.
Limits limits_of(const Options& options) {
  Limits limits;
  limits.exact_fallback = options.exact_fallback;
  limits.reuse = options.reuse;
  const AllocConf conf = parse_alloc_conf(options.alloc_conf, limits);
  for (const std::string& problem : conf.problems) say(problem.c_str());
  for (const std::string& note : conf.notes) say(note.c_str());
  return conf.limits;
}

// Tells `vramscope run` where a report is, or "!" that one could not be written.
void note(const std::string& path) {
  if (startup().note_file.empty()) return;
  const int file = open(startup().note_file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;  // the tool has gone: nobody reads it
  const std::string line = path + "\n";
  [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace

constinit ForkMark Profiler::current_;

Profiler::Profiler(const Options& options)
    : options_(options),
      limits_devices_(options.device_memory_limit.any()),
      backend_(contexts_, captures_),
      allocator_(backend_, limits_of(options)),
      exporters_(options.mode == Mode::dedicated),
      recorder_(kFunctionCount),
      triggers_(*this) {
  const auto join = [](void* allocator, Tag tag, const Groups& groups) {
    static_cast<CachingAllocator*>(allocator)->join(tag, groups);
  };
  backend_.tell(use_);
  if (options_.attribution) recorder_.tell({.told = join, .who = &allocator_});
  limit_devices();
}

void Profiler::limit_devices() noexcept {
  const auto& limits = options_.device_memory_limit.bytes;
  for (std::uint16_t i = 0; i < limits.size(); ++i) {
    if (limits[i] != 0) allocator_.limit_device(i, limits[i]);
  }
}

void Profiler::start() noexcept {
  if (switched_off() || starting.test_and_set()) return;
  const Uncancelled uncancelled;
  if (!driver_is_complete()) {
    say("this driver lacks functions of CUDA 11.8; the program runs unrecorded");
    return;
  }
  start_counter_clock();
  const Startup& start = startup();
  Profiler* profiler = nullptr;
  try {
    profiler = new (storage) Profiler(start.options);
  } catch (const std::exception&) {
    say("not enough memory to start; the program runs unrecorded");
    return;
  }
  for (const std::string& problem : start.problems) say(problem.c_str());
  const StackMethod method =
      open_stacks(start.options.stacks, start.options.stack_depth.value, real_dlsym);
  if (method != start.options.stacks) {
    profiler->recorder_.warn(method == StackMethod::frame_pointers
                                 ? "libunwind.so.8 cannot be opened: stacks are walked by frame "
                                   "pointers and may be short"
                                 : "no call stacks can be taken");
  }
  if (start.options.python) profiler->recorder_.want_python(real_dlsym);
  profiler->warn_of_other_dlsym();
  real().cuDriverGetVersion(&profiler->driver_version_);
  profiler->warn_of_missing_functions();
  profiler->start_trace();
  owner.store(getpid(), std::memory_order_relaxed);
  current_.set(profiler);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (fault(Fault::lock_over_fork)) {
    static Profiler* const own = profiler;
    pthread_atfork(nullptr, nullptr, [] { static_cast<void>(own->allocator_.idle_bytes(0)); });
  }
  if (start.options.cupti) {
    cupti::start(profiler->recorder_, profiler->allocator_, profiler->driver_version_);
  }
  profiler->triggers_.start(start.options.signal.number);
}

void Profiler::warn_of_missing_functions() noexcept {
  try {
    const std::string names = missing_functions(driver_version_);
    if (!names.empty()) {
      recorder_.warn(("this driver lacks functions of its version: " + names).c_str());
    }
  } catch (const std::exception&) {
    recorder_.warn("this driver could not be compared with its version: out of memory");
  }
}

void Profiler::warn_of_other_dlsym() noexcept {
  try {
    if (const std::string line = dlsym_before_ours(); !line.empty()) recorder_.warn(line.c_str());
  } catch (const std::exception&) {  // then it goes unsaid
  }
}

void Profiler::final_report(const char* trigger) noexcept {
  Profiler* profiler = owned();
  if (profiler == nullptr || !profiler->ends_with_files()) return;
  if (profiler->ended_.exchange(true)) return;
  profiler->triggers_.report_and_wait(trigger);
}

void Profiler::report_before_exec() noexcept {
  Profiler* profiler = owned();
  if (profiler != nullptr && profiler->ends_with_files()) {
    profiler->triggers_.report_and_wait("exec");
  }
}

void Profiler::note_device(std::uint16_t device) noexcept {
  try {
    DeviceFacts facts = ask_device(device);
    backend_.note_free_memory(device, facts.free_bytes, facts.total_bytes);
    const SystemLock lock(devices_mutex_);
    devices_.push_back(std::move(facts));
  } catch (const std::exception&) {
    recorder_.warn("a device could not be described: out of memory");
  }
}

std::vector<DeviceFacts> Profiler::devices() {
  std::vector<DeviceFacts> copy;
  {
    const SystemLock lock(devices_mutex_);
    copy = devices_;
  }
  for (DeviceFacts& facts : copy) {
    const FreeMemory memory = backend_.free_memory(facts.index);
    facts.free_bytes = memory.free_bytes;
    facts.free_bytes_age_ns = now_ns() - memory.taken_ns;
    const DeviceRoom room = allocator_.room(facts.index);
    if (room.limit != Limits::kUnlimited) facts.limit_bytes = room.limit;
    facts.limit_refusals = room.refusals;
    const DeviceUse::Figures figures = use_.figures(facts.index);
    facts.outside_bytes = figures.outside_bytes;
    facts.context_bytes = figures.context_bytes;
    facts.module_bytes = figures.module_bytes;
  }
  return copy;
}

ReportParts Profiler::collect(const char* trigger) {
  ReportParts parts;
  parts.trigger = trigger;
  cupti::flush();
  call_time_ns = now_ns();
  parts.memory = allocator_.snapshot();
  parts.cupti = cupti::facts(parts.memory);
  parts.recorder = recorder_.facts();              // after the snapshot: it knows every tag in it
  if (const RangeTable* const named = ranges()) {  // after the tags, which name them
    parts.recorder.ranges = named->facts();
    parts.recorder.range_marks = named->marks();
  }
  for (std::string& line : find_bypasses()) parts.recorder.warnings.push_back(std::move(line));
  parts.sample_bytes = sample_bytes();
  parts.devices = devices();
  parts.trace = finish_trace(trigger);
  if (!parts.trace.problem.empty()) {
    parts.recorder.warnings.push_back("the trace is not complete: " + parts.trace.problem);
  }
  parts.process = process_facts();
  parts.process.cuda_driver_version = driver_version_;
  parts.process.simulated = is_simulated_device();
  parts.process.simulated_launches = simulated_launches();
  parts.function_names.reserve(kFunctionCount);
  for (const FunctionRow& function : kFunctions) parts.function_names.emplace_back(function.symbol);
  return parts;
}

void Profiler::main_thread_ended() noexcept {
  Profiler* profiler = owned();
  if (profiler == nullptr) return;
  real().cuCtxGetCurrent(&profiler->last_context_);
  profiler->triggers_.main_thread_ended();
}

// The program's exit handlers run on this thread now, and find the context that they would have
// found on the main thread.
void Profiler::end_process() noexcept {
  if (last_context_ != nullptr) real().cuCtxPushCurrent_v2(last_context_);
  std::exit(0);
}

void Profiler::write_report(const char* trigger, std::atomic<bool>& writing) noexcept {
  const Inside inside(Inside::Ends::without_waiting);
  if (!wants_report(trigger)) {
    writing.store(true, std::memory_order_release);
    static_cast<void>(finish_trace(trigger));
    return writing.store(false, std::memory_order_release);
  }
  try {
    ReportParts parts = collect(trigger);
    writing.store(true, std::memory_order_release);
    parts.sequence = sequence_.load(std::memory_order_relaxed) + 1;
    const std::string path = path_of(options_.output, parts.process, parts.sequence);
    const auto written = vramscope::write_report(assemble(std::move(parts)), path);
    if (const auto* error = std::get_if<FileError>(&written)) {
      say(error->message.c_str());
      note("!");
    } else {
      sequence_.fetch_add(1, std::memory_order_relaxed);
      note(std::get<std::string>(written));
    }
  } catch (const std::exception&) {
    say("not enough memory to write a report; the next trigger tries again");
  }
  writing.store(false, std::memory_order_release);
}

// CUDA cannot be used in a child of a process that used it: every call goes to the driver, which
// says so; nothing is recorded. Our locks may be held by threads that the child does not have, so
// nothing of ours is touched again. Children that run no fork handlers lose the mark all the same.
void Profiler::after_fork_in_child() noexcept {
  current_.clear();
  abandon_ranges();
  cupti::abandon();
  return_signal();
}

}  // namespace vramscope
