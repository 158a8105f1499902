// How long a thread of the program waits for a report. The limits are a second of real time.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/triggers.h"

#include <gtest/gtest.h>
#include <time.h>

#include <string>
#include <thread>
#include <vector>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/capability.h"
#include "allocator/base/mutex.h"
#include "interpose/base/clock.h"
#include "interpose/base/message.h"
#include "interpose/life/signals.h"

namespace vramscope {

namespace {
std::vector<std::string> said;  // by the thread that waits
}

// In place of the library's: these tests take no signal.
void say(const char* text) noexcept { said.emplace_back(text); }
void say_once(Once, const char* text) noexcept { said.emplace_back(text); }
void take_signal(int, void (*)(), void (*)()) noexcept {}
bool program_handles_signal() noexcept { return false; }

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr Patience kPatience{.limit_ns = 20 * kSecondNs, .given_up = "given up"};

Mutex mutex;
SystemMutex system_mutex;

void work() {
  const std::uint64_t begun = now_ns();
  while (elapsed_ns(begun) < 2 * kSecondNs) {
  }
}

void sleep() {
  const timespec time{.tv_sec = 3, .tv_nsec = 0};
  nanosleep(&time, nullptr);
}

template <typename Lock>
void lock(Lock& one) VRAMSCOPE_NO_ANALYSIS {
  one.lock();
  one.unlock();
}

// What is said while a report's numbers are taken by `take`. The helper thread outlives the test.
std::vector<std::string> said_while(void (*take)()) {
  using Writing = std::atomic<bool>;
  const TriggerCallbacks callbacks{
      .context = reinterpret_cast<void*>(take),
      .write_report = [](void* taking, const char*,
                         Writing&) noexcept { reinterpret_cast<void (*)()>(taking)(); },
      .held_back_ns = [](void*) noexcept -> std::uint64_t { return 0; },
      .write_trace = [](void*, bool) noexcept {},
      .has_trace = [](void*) noexcept { return false; },
      .due = [](void*) noexcept -> const char* { return nullptr; },
      .due_in_ns = [](void*) noexcept { return TriggerCallbacks::kForever; },
      .look = [](void*) noexcept {},
      .is_open = [](void*) noexcept { return false; },
      .converse = [](void*, std::uint64_t, Writing&) noexcept {},
      .end_process = [](void*) noexcept {}};
  auto* const triggers = new Triggers(callbacks);
  said.clear();
  triggers->start(0);
  triggers->report_and_wait("exit", kPatience);
  return said;
}

TEST(Triggers, WaitForAReportWhoseNumbersTakeLong) {
  const std::vector<std::string> lines = said_while(work);

  EXPECT_EQ(lines, std::vector<std::string>());
}

TEST(Triggers, GiveUpAReportThatWaitsForSomethingElse) {
  const std::vector<std::string> lines = said_while(sleep);

  EXPECT_EQ(lines, std::vector<std::string>{"given up"});
}

TEST(Triggers, GiveUpAReportThatLooksAtALock) {
  mutex.lock();
  const std::vector<std::string> lines = said_while([] { lock(mutex); });
  mutex.unlock();

  EXPECT_EQ(lines, std::vector<std::string>{"given up"});
}

TEST(Triggers, GiveUpAReportThatLooksAtALockOfTheSystem) {
  system_mutex.lock();
  const std::vector<std::string> lines = said_while([] { lock(system_mutex); });
  system_mutex.unlock();

  EXPECT_EQ(lines, std::vector<std::string>{"given up"});
}

TEST(AwaitsLock, LastsWhileOneOfSeveralThreadsWaits) {
  const GivesUpLostLocks gives_up;
  const AwaitsLock awaits;

  std::thread([] {
    const GivesUpLostLocks also_gives_up;
    const AwaitsLock also_awaits;
  }).join();

  EXPECT_TRUE(AwaitsLock::on());
}

}  // namespace
}  // namespace vramscope
