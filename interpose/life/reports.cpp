// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/reports.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string_view>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/capability.h"
#include "allocator/base/fault.h"
#include "allocator/base/own_stack.h"
#include "interpose/base/clock.h"
#include "interpose/base/guard.h"
#include "interpose/base/message.h"
#include "interpose/driver/device_facts.h"
#include "interpose/life/run_note.h"
#include "interpose/life/signals.h"
#include "interpose/loader/real.h"
#include "interpose/settings/private_variables.h"
#include "interpose/settings/startup.h"
#include "reporter/report/assemble.h"
#include "reporter/report/json.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

constinit std::atomic<Reports*> reports{nullptr};
constinit std::atomic<pid_t> owner{0};

constexpr Patience kAtEnd{
    .limit_ns = 60'000'000'000,  // for a hanging file system
    .given_up = "the last report could not be written in time; the program ends without it"};
constexpr Patience kAmidProgram{
    .limit_ns = 5'000'000'000,
    .given_up = "the out-of-memory report takes a long time; the program continues meanwhile"};

// Whether a report is the last of this program, unless an exec fails.
bool is_last_word(std::string_view trigger) noexcept {
  return trigger == "exit" || trigger == "exec";
}

// Whether somebody outside asked for a report.
bool is_asked_for(std::string_view trigger) noexcept {
  return trigger == "signal" || trigger == "control";
}

constexpr const char* kNoMemory =
    "not enough memory to write a report; the next trigger tries again";

DeviceUses uses_in(const Snapshot& memory) noexcept {
  DeviceUses use{};
  for (const KindTotals& kind : memory.kinds) {
    if (!takes_device_memory(kind.kind)) continue;
    use[kind.device].live_bytes += kind.current_bytes;
    use[kind.device].peak_bytes += kind.peak_bytes;
  }
  return use;
}

}  // namespace

Reports::Reports(Profiler& profiler, LiveFile& live_file, const Options& options,
                 std::int32_t driver_version) noexcept
    : profiler_(profiler),
      live_file_(live_file),
      options_(options),
      driver_version_(driver_version),
      trace_(profiler),
      control_(profiler, live_file.memory(), control_reports()),
      triggers_(callbacks()),
      schedule_({.interval_ns = options.interval.milliseconds * 1'000'000,
                 .growth_bytes = options.report_on_growth.value,
                 .peak_percent = options.report_at_peak.value},
                now_ns()),
      running_(options, schedule_),
      oom_(profiler.wanted_bytes()) {}

TriggerCallbacks Reports::callbacks() noexcept {
  const auto write = [](void* self, const char* trigger, std::atomic<bool>& writing) noexcept {
    static_cast<Reports*>(self)->write(trigger, writing);
  };
  const auto write_trace = [](void* self, bool all) noexcept {
    using Which = ProcessTrace::Which;
    static_cast<Reports*>(self)->trace_.write(all ? Which::all : Which::full_ones);
  };
  const auto has_trace = [](void* self) noexcept {
    return static_cast<Reports*>(self)->trace_.exists();
  };
  const auto due = [](void* self) noexcept { return static_cast<Reports*>(self)->due(); };
  const auto due_in_ns = [](void* self) noexcept {
    return static_cast<Reports*>(self)->schedule_.wait_ns(now_ns());
  };
  const auto end = [](void* self) noexcept { static_cast<Reports*>(self)->end_process(); };
  const auto held_back = [](void* self) noexcept {
    return static_cast<Reports*>(self)->quota_.held_back_ns(now_ns());
  };
  const auto look = [](void* self) noexcept { static_cast<Reports*>(self)->control_.look(); };
  const auto is_open = [](void* self) noexcept {
    return static_cast<Reports*>(self)->control_.is_open();
  };
  const auto converse = [](void* self, std::uint64_t limit_ns,
                           std::atomic<bool>& writing) noexcept {
    static_cast<Reports*>(self)->control_.converse(limit_ns, writing);
  };
  return {.context = this,
          .write_report = write,
          .held_back_ns = held_back,
          .write_trace = write_trace,
          .has_trace = has_trace,
          .due = due,
          .due_in_ns = due_in_ns,
          .look = look,
          .is_open = is_open,
          .converse = converse,
          .end_process = end};
}

SteeredReports Reports::control_reports() noexcept {
  return {.write =
              [](void* self, std::atomic<bool>& writing) {
                return static_cast<Reports*>(self)->write_asked(writing);
              },
          .end = [](void* self) noexcept { static_cast<Reports*>(self)->end_early(); },
          .ring = [](void* self) { static_cast<Reports*>(self)->triggers_.ring(); },
          .context = this,
          .trace = &trace_,
          .options = &running_};
}

// As after the last report: none follows, at exit either. The helper thread stays, and waits for
// nothing.
void Reports::end_early() noexcept {
  if (ended_.exchange(true)) return;
  trace_.stop();
  live_file_.remove();
  control_.withdraw();
  return_signal();
  prctl(PR_SET_NAME, kNameOfEndedHelper);
  last_written_.raise();
  last_left_.raise();
}

Reports* Reports::of_this_process() noexcept {
  const bool is_owner = owner.load(std::memory_order_relaxed) == getpid();
  const bool ours =
      Profiler::active() != nullptr && (is_owner || fault(Fault::vfork_child_reports));
  return ours ? reports.load(std::memory_order_acquire) : nullptr;
}

// Also tells `vramscope run` about the files. If memory for that is exhausted, the live file is
// given up.
void Reports::begin_files() noexcept {
  const auto ring = [](void* triggers) { static_cast<Triggers*>(triggers)->ring(); };
  trace_.prepare({ring, &triggers_});
  try {
    if (trace_.exists()) note_trace(trace_.path());
    live_file_.publish(profiler_, process(), trace_.path());
    note_next_report();
  } catch (const std::exception&) {
    live_file_.remove();
  }
}

void Reports::note_next_report() {
  if (live_file_.path().empty()) return;
  const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed) + 1;
  note_live_file(live_file_.path(), path_of(options_.output, process(), sequence));
}

void Reports::begin() noexcept {
  begin_files();
  static constexpr auto of = [](void* self) -> Reports& { return *static_cast<Reports*>(self); };
  const auto refuse = [](void* self, const Refusal& one) noexcept { of(self).note_refusal(one); };
  const auto serve = [](void* self, const Event& one) noexcept { of(self).oom_.note_served(one); };
  profiler_.on_refusal({refuse, serve, this});
  const auto grow = [](void* self) noexcept { of(self).note_growth(); };
  profiler_.on_growth({grow, this});
  owner.store(getpid(), std::memory_order_relaxed);
  reports.store(this, std::memory_order_release);
}

void Reports::listen() noexcept {
  if (auto* const bell = control_.bell(); bell != nullptr) triggers_.count_in(*bell);
  control_.begin(options_.control);
  triggers_.start(options_.signal.number);
  control_.attend(triggers_.writes_elsewhere());
}

void Reports::write_last(const char* trigger) noexcept {
  if (ended_.exchange(true)) return await_last();
  ending_.store(gettid(), std::memory_order_relaxed);
  end_files(trigger);
  last_written_.raise();
  last_left_.raise();
}

// Waits for a second or two if the report cannot be written.
void Reports::await_last() noexcept {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  const bool is_same = ending_.load(std::memory_order_relaxed) == gettid();
  if (is_same && !triggers_.writes_elsewhere()) return;
  WaitableCounter& done = is_same ? last_written_ : last_left_;
  const std::uint64_t begun = now_ns();
  while (!done.wait_beyond(0, kSecondNs) && triggers_.is_writing()) {
    if (elapsed_ns(begun) > kAtEnd.limit_ns) return;
  }
}

void Reports::write_before_exec() noexcept {
  exec_reports_.begin_exec();
  end_files("exec");
}

void Reports::note_failed_exec() noexcept {
  live_file_.note_failed_exec();
  control_.return_after_exec();
  exec_reports_.note_failed_exec();
}

// The live file stays if the report could not be written, so that a report can be recovered from
// it.
void Reports::end_files(const char* trigger) noexcept {
  control_.withdraw();
  has_failed_.store(ends_with_files() && running_.reports_at_exit(), std::memory_order_relaxed);
  if (ends_with_files()) {
    const EndingThread ending(guard_mark != 0, system_locks_held != 0);
    triggers_.report_and_wait(trigger, kAtEnd);
  }
  if (!has_failed_.load(std::memory_order_acquire)) live_file_.remove();
}

// The program waits for the report, so that its figures are those of the refusal, but not for long.
void Reports::note_refusal(const Refusal& refusal) noexcept {
  if (of_this_process() != this || !oom_.note(refusal)) return;
  triggers_.report_and_wait("oom", kAmidProgram);
}

// The helper thread writes the report while the program continues. Growth within the cache is
// noticed at the helper's next check.
void Reports::note_growth() noexcept {
  if (!schedule_.looks_at_memory() || of_this_process() != this) return;
  bool is_wanted = false;
  own_stack::run([&] { is_wanted = schedule_.wants(uses()); });
  if (is_wanted) triggers_.ring();
}

DeviceUses Reports::uses() const noexcept {
  DeviceUses use{};
  for (std::uint16_t i = 0; schedule_.looks_at_memory() && i < kMaxDevices; ++i) {
    use[i] = profiler_.allocator().sample(i);
  }
  return use;
}

ProcessFacts Reports::process() const {
  ProcessFacts facts = process_facts();
  facts.cuda_driver_version = driver_version_;
  facts.simulated = is_simulated_device();
  facts.simulated_launches = simulated_launches();
  return facts;
}

void Reports::note_end_of_main_thread() noexcept {
  real().cuCtxGetCurrent(&last_context_);
  static_cast<void>(profiler_.contexts().current());  // makes the context known
  triggers_.main_thread_ended();
}

// The program's exit handlers run on this thread now, in the context that the main thread had.
void Reports::end_process() noexcept {
  Contexts& contexts = profiler_.contexts();
  Place place;
  // No other thread could end the context.
  const bool lives =
      last_context_ != nullptr && contexts.find(contexts.memory_owner(last_context_), place);
  if (lives) real().cuCtxPushCurrent_v2(last_context_);
  std::exit(0);
}

// No automatic report begins after the last report or during an exec.
const char* Reports::due() noexcept {
  const bool ends = ended_.load(std::memory_order_relaxed) || exec_reports_.is_any_under_way();
  if (ends || !writes_by_itself()) return nullptr;
  return schedule_.due(now_ns(), uses());
}

bool Reports::wants_report(const char* trigger) const noexcept {
  return running_.reports_at_exit() || !is_last_word(trigger);
}

bool Reports::is_to_be_written(std::string_view trigger) noexcept {
  if (trigger != "oom") return true;
  return running_.reports_oom() && oom_.deserves_report(now_ns());
}

// A report before exec uses no number: a later report only exists if the exec failed, and gets the
// same one.
void Reports::note_written(std::string_view trigger, OwnReport report) {
  const bool is_of_exec = trigger == "exec";
  if (!is_of_exec) sequence_.fetch_add(1, std::memory_order_relaxed);
  has_complained_.store(false, std::memory_order_relaxed);
  if (is_last_word(trigger)) {
    // At once, because a process that is killed from now on has written its last report.
    live_file_.remove_after(profiler_, report.path);
    has_failed_.store(false, std::memory_order_release);
  }
  live_file_.note_next_report(profiler_, sequence_.load(std::memory_order_relaxed) + 1);
  note_report(report.path);
  last_path_ = report.path;
  if (!is_last_word(trigger)) note_next_report();
  if (Schedule::asks(trigger)) return kept_.add(std::move(report));
  if (trigger == "oom") return kept_refusals_.add(std::move(report), oom_.told().event);
  if (is_of_exec) exec_reports_.add(std::move(report));
}

// Signals may request reports for ever. After one failure, further failures print a message only if
// a report was written in between.
void Reports::complain(const char* trigger, const char* line) noexcept {
  if (Schedule::asks(trigger)) return say_once(Once::scheduled_report, line);
  const bool is_asked_again =
      is_asked_for(trigger) && has_complained_.exchange(true, std::memory_order_relaxed);
  if (!is_asked_again) say(line);
}

void Reports::write(const char* trigger, std::atomic<bool>& writing) noexcept {
  const CallGuard guard(CallGuard::Ends::without_waiting);
  if (is_asked_for(trigger)) quota_.count(now_ns());
  if (!wants_report(trigger)) {
    writing.store(true, std::memory_order_release);
    static_cast<void>(trace_.finish(trigger));
    return writing.store(false, std::memory_order_release);
  }
  try {
    ReportParts parts = collect(trigger);
    writing.store(true, std::memory_order_release);
    schedule_.note_told(trigger, uses_in(parts.memory));
    collect_refusals(parts);
    if (!is_to_be_written(trigger)) return writing.store(false, std::memory_order_release);
    parts.sequence = sequence_.load(std::memory_order_relaxed) + 1;
    const Word word = is_last_word(trigger) ? Word::last : Word::interim;
    const std::string path = path_of(options_.output, parts.process, parts.sequence, word);
    exec_reports_.take_back(std::string_view(trigger) == "exec");
    OwnReport own;
    Assembly assembly(std::move(parts));
    auto written = write_report(assembly.report(), assembly.sites(), path, &own.file);
    if (const auto* error = std::get_if<FileError>(&written)) {
      const char* const line = error->message.empty() ? kNoMemory : error->message.c_str();
      complain(trigger, line);
      note_report(kReportFailed);
    } else {
      own.path = std::move(std::get<std::string>(written));
      note_written(trigger, std::move(own));
    }
  } catch (const std::exception&) {
    complain(trigger, kNoMemory);
  }
  writing.store(false, std::memory_order_release);
  if (std::string_view(trigger) == "exit") last_written_.raise();
}

// Returns the path of the report, or why there is none.
std::variant<std::string, std::string> Reports::write_asked(std::atomic<bool>& writing) {
  using Reply = std::variant<std::string, std::string>;
  const auto refuse = [](const char* why) { return Reply(std::in_place_index<1>, why); };
  const std::uint64_t wait_ns = quota_.held_back_ns(now_ns());
  if (wait_ns == ReportQuota::kForever) {
    return refuse("it has written 1,000 reports on request, and writes no more of them");
  }
  if (wait_ns != 0) return refuse("it writes at most 10 reports a second on request; try again");
  last_path_.clear();
  write("control", writing);
  if (last_path_.empty())
    return refuse("the report could not be written; its error output says why");
  return Reply(std::in_place_index<0>, last_path_);
}

}  // namespace vramscope
