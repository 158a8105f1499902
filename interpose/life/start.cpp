// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/start.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <string>

#include "allocator/base/fault.h"
#include "allocator/base/own_stack.h"
#include "allocator/base/uncancelled.h"
#include "interpose/base/clock.h"
#include "interpose/base/message.h"
#include "interpose/call/deferred_frees.h"
#include "interpose/driver/profiler.h"
#include "interpose/life/expectations.h"
#include "interpose/life/forks.h"
#include "interpose/life/live_file.h"
#include "interpose/life/output_folder.h"
#include "interpose/life/reports.h"
#include "interpose/life/signals.h"
#include "interpose/loader/bypasses.h"
#include "interpose/loader/loader.h"
#include "interpose/loader/real.h"
#include "interpose/settings/alloc_conf.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/cupti_session.h"
#include "interpose/tools/nvtx.h"
#include "reporter/record/stack/capture.h"

namespace vramscope {
namespace {

// All process-wide objects; never destroyed.
struct Parts {
  Parts(const Options& options, const Limits& limits, std::int32_t driver_version)
      : profiler(options, limits, began(live_file)),
        reports(profiler, live_file, options, driver_version) {}
  // The file must be begun before objects are made in it.
  static LiveMemory* began(LiveFile& file) {
    file.begin();
    return &file.memory();
  }
  LiveFile live_file;
  Profiler profiler;
  Reports reports;
};
alignas(Parts) constinit std::byte storage[sizeof(Parts)] = {};
constinit std::atomic_flag starting = ATOMIC_FLAG_INIT;

// Prints the settings without effect; notes also go to the report.
AllocConf settings_of(const Options& options) {
  Limits limits;
  limits.policy = options.policy;
  limits.exact_fallback = options.exact_fallback;
  limits.reuse = options.reuse;
  AllocConf conf = parse_alloc_conf(options.alloc_conf, limits);
  if (!options.exact_fallback && options.policy == Policy::native_safe) {
    conf.notes.emplace_back("--exact-fallback off has no effect without --policy pytorch");
  }
  for (const std::string& problem : conf.problems) say(problem.c_str());
  for (const std::string& note : conf.notes) say(note.c_str());
  return conf;
}

// Returns null if memory is exhausted.
Parts* make_parts(const Options& options, std::int32_t driver_version) noexcept {
  try {
    const AllocConf conf = settings_of(options);
    Parts* const parts = new (storage) Parts(options, conf.limits, driver_version);
    for (const std::string& note : conf.notes) parts->profiler.recorder().warn(note.c_str());
    return parts;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void warn_of_missing_functions(Recorder& recorder, int driver_version) noexcept {
  try {
    const std::string names = missing_functions(driver_version);
    if (!names.empty()) {
      recorder.warn(("this driver lacks functions of its version: " + names).c_str());
    }
  } catch (const std::exception&) {
    recorder.warn("this driver could not be compared with its version: out of memory");
  }
}

void warn_of_attachment(Recorder& recorder) noexcept {
  recorder.warn(
      startup().held_before.empty()
          ? "Vramscope was attached while the program ran: memory from before is not recorded, "
            "and NVML did not tell its sum; calls through pointers on a heap are missed"
          : "Vramscope was attached while the program ran: memory from before is one line of the "
            "ledger; calls through pointers on a heap are missed");
}

// What LD_PRELOAD does and this way in cannot.
void warn_of_way_in(Recorder& recorder) noexcept {
  if (way_in() == WayIn::by_driver) {
    return recorder.warn(
        "the driver loaded Vramscope (CUDA_INJECTION64_PATH), so calls are only observed, and "
        "those through pointers that a heap keeps are missed");
  }
  if (way_in() == WayIn::attached) return warn_of_attachment(recorder);
  try {
    if (const std::string line = dlsym_before_ours(); !line.empty()) recorder.warn(line.c_str());
  } catch (const std::exception&) {  // then it goes unsaid
  }
}

// Warns only in the report, since the program may run on machines with different numbers of
// devices.
void warn_of_absent_devices(const CapacityOption& limits, Recorder& recorder) noexcept {
  int devices = 0;
  if (!limits.any() || real().cuDeviceGetCount(&devices) != CUDA_SUCCESS) return;
  try {
    const std::string names = beyond(limits, static_cast<std::size_t>(devices));
    if (names.empty()) return;
    recorder.warn((std::string(kLimitOfNone) + names + ": the program has " +
                   (devices == 1 ? "one GPU" : std::to_string(devices) + " GPUs") +
                   ", counted from 0")
                      .c_str());
  } catch (const std::exception&) {  // then it goes unsaid
  }
}

void open_stacks_of(const Options& options, Recorder& recorder) noexcept {
  const StackMethod method = open_stacks(options.stacks, options.stack_depth.value, real_dlsym);
  if (method != options.stacks) {
    recorder.warn(method == StackMethod::frame_pointers
                      ? "libunwind.so.8 cannot be opened: stacks are walked by frame "
                        "pointers and may be short"
                      : "no call stacks can be taken");
  }
  if (options.python) recorder.want_python(real_dlsym);
}

// Without memory, what was before counts with the others.
void begin_from_before(Profiler& profiler) noexcept {
  try {
    profiler.unrecorded_use().from_before().begin();
  } catch (const std::exception&) {
  }
}

void start() noexcept {
  const Uncancelled uncancelled;
  if (!driver_is_complete()) {
    say("this driver lacks functions of CUDA 11.8; the program runs unrecorded");
    return;
  }
  start_counter_clock();
  note_place();
  const Startup& settings = startup();
  int driver_version = 0;
  real().cuDriverGetVersion(&driver_version);
  Parts* const parts = make_parts(settings.options, driver_version);
  if (parts == nullptr) {
    say("not enough memory to start; the program runs unrecorded");
    return;
  }
  for (const std::string& problem : settings.problems) say(problem.c_str());
  Recorder& recorder = parts->profiler.recorder();
  open_stacks_of(settings.options, recorder);
  warn_of_way_in(recorder);
  begin_from_before(parts->profiler);
  warn_of_missing_functions(recorder, driver_version);
  warn_of_absent_devices(settings.options.device_memory_limit, recorder);
  deferred_frees::register_with_guard();
  make_output_folder();
  parts->reports.begin();
  parts->profiler.activate();
  expectations().attach(parts->profiler);
  show_ranges();
  handle_forks(parts->profiler, parts->live_file.memory());
  if (settings.options.cupti) cupti::start(recorder, parts->profiler.allocator(), driver_version);
  parts->reports.listen();
}

}  // namespace

bool may_start() noexcept { return !switched_off() && !starting.test(); }

void start_profiler() noexcept {
  if (!switched_off() && !starting.test_and_set()) own_stack::run([] { start(); });
}

}  // namespace vramscope
