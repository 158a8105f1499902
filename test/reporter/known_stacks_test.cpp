// Known stacks beside full walks: random programs of calls, with frames of every make.
// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "reporter/record/stack/capture.h"
#include "test/reporter/stack_library.h"

namespace vramscope {
namespace {

// What random frames do: the same numbers, the same calls.
struct Program {
  std::mt19937 random;
  int captures = 0;
  std::string wrong;
};

// Along frame pointers a stack may be empty.
std::span<const std::uintptr_t> callers_of(const Stack& stack) {
  return stack.depth == 0 ? stack.view() : stack.view().subspan(1);
}

// Both stacks from one function: they differ in its own frame alone.
[[gnu::noinline]] void compare(Program& program) {
  Stack walked;
  Stack known;
  library_capture(walked);
  library_capture_elsewhere(known);
  ++program.captures;
  if (!std::ranges::equal(callers_of(walked), callers_of(known))) {
    program.wrong = "capture " + std::to_string(program.captures) + ": a walk gives " +
                    std::to_string(walked.depth) + " frames, known are " +
                    std::to_string(known.depth);
  }
  if (!library_note_fits()) program.wrong = "a note of another stack";
  asm volatile("" ::: "memory");  // no tail call
}

void go_on(Program& program, int depth);

[[gnu::noinline]] void plain(Program& program, int depth) {
  go_on(program, depth);
  asm volatile("" ::: "memory");
}

// The frame pointer holds data.
[[gnu::noinline, gnu::optimize("omit-frame-pointer")]] void data_in_registers(Program& program,
                                                                              int depth) {
  const unsigned a = program.random() % 3, b = program.random() % 3, c = program.random() % 2;
  const unsigned d = program.random() % 2, e = program.random() % 2;
  go_on(program, depth);
  asm volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
}

// The frame is found by its frame pointer only.
[[gnu::noinline]] void variable(Program& program, int depth) {
  const std::size_t bytes = 16 + 32 * (program.random() % 3);
  void* const memory = alloca(bytes);
  std::memset(memory, 1, bytes);
  go_on(program, depth);
  asm volatile("" ::"r"(memory) : "memory");
}

// The stack is aligned anew, so the frame is found by an expression.
[[gnu::noinline]] void aligned(Program& program, int depth) {
  alignas(128) volatile char data[128] = {};
  const std::size_t bytes = 16 * (program.random() % 2 + 1);
  void* const memory = alloca(bytes);
  data[program.random() % 100] = 1;
  go_on(program, depth);
  asm volatile("" ::"r"(memory), "r"(&data[0]) : "memory");
}

// Frames of the C library between ours.
[[gnu::noinline]] void through_sort(Program& program, int depth) {
  struct Next {
    Program& program;
    int depth;
    bool called = false;
  } next{program, depth};
  std::array<int, 2> numbers{2, 1};
  constexpr auto kCompare = [](const void*, const void*, void* argument) {
    Next& asked = *static_cast<Next*>(argument);
    if (!std::exchange(asked.called, true)) go_on(asked.program, asked.depth);
    return 0;
  };
  qsort_r(numbers.data(), numbers.size(), sizeof(int), kCompare, &next);
}

[[gnu::noinline]] void thrown(Program& program, int depth) {
  try {
    go_on(program, depth);
    throw depth;
  } catch (int) {
    if (program.random() % 4 == 0) compare(program);
  }
}

void go_on(Program& program, int depth) {
  constexpr std::array kFrames = {plain,   data_in_registers, variable,
                                  aligned, through_sort,      thrown};
  if (depth == 0) return compare(program);
  kFrames[program.random() % kFrames.size()](program, depth - 1);
  asm volatile("" ::: "memory");
}

class Known : public testing::TestWithParam<StackMethod> {
 protected:
  // What one method taught a thread is not true of the other, which no program changes.
  template <class Body>
  static void in_own_thread(Body body) {
    std::thread(body).join();
  }

  void SetUp() override {
    if (open_library_stacks(GetParam(), 64, dlsym) != GetParam()) {
      GTEST_SKIP() << "libunwind is not installed";
    }
  }
};

TEST_P(Known, StacksAreThoseOfWalks) {
  Program program;
  std::uint64_t found = 0;
  in_own_thread([&] {
    for (unsigned turn = 0; turn < 3000 && program.wrong.empty(); ++turn) {
      program.random.seed(turn % 40 < 30 ? turn % 5 : turn);  // many the same, some new
      const int depth = static_cast<int>(program.random() % 12);
      for (int i = 0; i < 3; ++i) go_on(program, depth);
    }
    found = library_found();
  });
  EXPECT_EQ(program.wrong, "");
  const bool learns = recorded_walk::kExists || GetParam() == StackMethod::frame_pointers;
  EXPECT_EQ(found != 0, learns);
  if (!learns) GTEST_SKIP() << "walks by tables are not remembered on this machine";
  EXPECT_GT(found, static_cast<std::uint64_t>(program.captures / 4)) << program.captures;
}

TEST_P(Known, StacksOfEachThreadAreItsOwn) {
  std::vector<Program> programs(6);
  std::vector<std::thread> threads;
  for (Program& program : programs) {
    threads.emplace_back([&program] {
      for (int i = 0; i < 300 && program.wrong.empty(); ++i) go_on(program, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Program& program : programs) EXPECT_EQ(program.wrong, "");
}

Program* of_handler = nullptr;

TEST_P(Known, StacksThroughSignalFramesAreThoseOfWalks) {
  Program program;
  of_handler = &program;
  struct sigaction action {};
  action.sa_handler = [](int) { compare(*of_handler); };
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  in_own_thread([] {
    for (int i = 0; i < 200; ++i) raise(SIGUSR2);
  });
  EXPECT_EQ(program.wrong, "");
  EXPECT_EQ(program.captures, 200);
}

ucontext_t outside, inside;

TEST_P(Known, StacksOnStacksOfTheProgramsOwnAreThoseOfWalks) {
  Program program;
  of_handler = &program;
  for (int i = 0; i < 100; ++i) {
    std::vector<char> memory(256 << 10);  // at the same place each time, or another
    getcontext(&inside);
    inside.uc_stack.ss_sp = memory.data();
    inside.uc_stack.ss_size = memory.size();
    inside.uc_link = &outside;
    makecontext(
        &inside, [] { go_on(*of_handler, 2); }, 0);
    swapcontext(&outside, &inside);
  }
  EXPECT_EQ(program.wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Methods, Known,
                         testing::Values(StackMethod::frame_pointers, StackMethod::unwind_tables),
                         [](const auto& test) {
                           return test.param == StackMethod::frame_pointers ? "FramePointers"
                                                                            : "UnwindTables";
                         });

}  // namespace
}  // namespace vramscope
