// Verbs of a process's life: reports, children, faults of the device. The way out is in
// program.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "test/differential/patience.h"
#include "test/differential/reports.h"
#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

volatile sig_atomic_t handled = 0;

void count_signal(int) { handled = handled + 1; }

// handler [ignore]: for the signal on which we write reports
void handler(Turn& turn) {
  struct sigaction action {};
  action.sa_handler = turn.has(0) ? SIG_IGN : count_signal;
  turn.say("before", static_cast<std::uint64_t>(turn.world.has_handler));
  turn.say(sigaction(SIGUSR1, &action, nullptr) == 0 ? "set" : "refused");
  turn.world.has_handler = !turn.has(0);
}

// report: asked for by signal; with the program's own handler, which runs in any case
void report(Turn& turn) {
  if (!turn.world.initialised) return turn.skip("too early");
  if (!may_ask_for_report()) return turn.skip("often enough");
  if (turn.world.profiled) {
    request_report(turn.world);
  } else if (turn.world.has_handler) {
    raise(SIGUSR1);
  }
  turn.say("handled", static_cast<std::uint64_t>(handled));
}

// In a child of fork: CUDA cannot be used there. Codes of some calls, as text. A thread of the
// parent may have had the loader's lock, or be changing what the program knows.
std::string calls_of_child(const World& world) {
  const bool was_alone = !world.together;
  std::string text;
  const auto add = [&](CUresult code) { text += std::to_string(static_cast<int>(code)) + " "; };
  CUdeviceptr address = 0;
  std::size_t free_bytes = 0, total = 0;
  void* pinned = nullptr;
  add(CU(cuMemAlloc_v2, Way::linked, &address, std::size_t{4096}));
  add(CU(cuMemGetInfo_v2, was_alone ? Way::proc : Way::linked, &free_bytes, &total));
  add(CU(cuMemHostAlloc, was_alone ? Way::dlsym : Way::linked, &pinned, std::size_t{4096}, 0U));
  for (const auto& [name, memory] : world.memories) {
    if (!was_alone || !memory.live || memory.kind != MemoryKind::device) continue;
    add(CU(cuMemFree_v2, Way::linked, memory.address));
    break;
  }
  add(CU(cuCtxSynchronize, Way::linked));
  add(CU(cuInit, Way::linked, 0U));
  return text;
}

[[noreturn]] void leave_child(const std::string& how) {
  if (how == "exit") std::exit(7);
  if (how == "quick_exit") std::quick_exit(7);
  if (how == "abort") std::abort();
  if (how == "exec") execl("/proc/self/exe", "differential_child", "--hello", nullptr);
  _exit(7);
}

void say_end(Turn& turn, pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) turn.say("exited", static_cast<std::uint64_t>(WEXITSTATUS(status)));
  if (WIFSIGNALED(status))
    turn.say("ended by signal", static_cast<std::uint64_t>(WTERMSIG(status)));
}

// fork exit|quick_exit|_exit|abort|exec
void fork_child(Turn& turn) {
  if (!turn.world.initialised) return turn.skip("too early");
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return turn.skip("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    alarm_within(20);
    close(ends[0]);
    const std::string text = calls_of_child(turn.world);
    if (write(ends[1], text.data(), text.size()) < 0) _exit(9);
    close(ends[1]);
    leave_child(turn.word(0));
  }
  close(ends[1]);
  std::array<char, 256> text{};
  std::string all;
  for (ssize_t got; (got = read(ends[0], text.data(), text.size())) > 0;) {
    all.append(text.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  turn.say("child: " + all);
  say_end(turn, child);
}

// vfork _exit|exec
void vfork_child(Turn& turn) {
  const bool execs = turn.word(0) == "exec";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = vfork();
#pragma GCC diagnostic pop
  if (child == 0) {
    if (execs) execl("/proc/self/exe", "differential_child", "--hello", nullptr);
    _exit(8);
  }
  say_end(turn, child);
}

// spawn
void spawn(Turn& turn) {
  pid_t child = 0;
  std::array<char*, 3> arguments = {const_cast<char*>("differential_child"),
                                    const_cast<char*>("--hello"), nullptr};
  const int error =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return turn.skip("no child");
  say_end(turn, child);
}

// trim: idle segments go back, as a program may ask by our face; natively there are none
void trim(Turn& turn) {
  using Trim = int (*)();
  static const auto ask = reinterpret_cast<Trim>(dlsym(RTLD_DEFAULT, "vramscope_v1_empty_cache"));
  if (ask != nullptr && turn.world.initialised) static_cast<void>(ask());
  turn.say("asked for");
}

// fault fail DEVICE COUNT: that allocation call of the device, counted from now, fails
// fault sticky DEVICE CODE: every call does
void fault(Turn& turn) {
  using Fault = void (*)(int device, std::uint64_t fail_in, int sticky);
  static const auto ask = reinterpret_cast<Fault>(dlsym(RTLD_DEFAULT, "vramscope_simulated_fault"));
  if (ask == nullptr) return turn.skip("a driver without faults");
  const auto device = static_cast<int>(turn.number(1));
  if (turn.word(0) == "fail") {
    ask(device, turn.number(2), 0);
    turn.world.runs_out = true;
  } else {
    ask(device, 0, static_cast<int>(turn.number(2)));
    turn.world.broken_device = device;
  }
  turn.say("set");
}

}  // namespace

void add_life_verbs(Verbs& verbs) {
  verbs["handler"] = handler;
  verbs["report"] = report;
  verbs["fork"] = fork_child;
  verbs["vfork"] = vfork_child;
  verbs["spawn"] = spawn;
  verbs["fault"] = fault;
  verbs["trim"] = trim;
}

}  // namespace vramscope::differential
