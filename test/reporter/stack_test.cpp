// Native stacks by both methods, on ordinary, deep, foreign and small stacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/capture.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "test/reporter/stack_library.h"

namespace vramscope {
namespace {

// On aarch64 return addresses on the stack carry a signature, as distributions compile programs.
#ifdef __aarch64__
#define SIGNS_RETURNS gnu::target("branch-protection=standard")
#else
#define SIGNS_RETURNS
#endif

// Captures below `depth` frames of its own.
[[gnu::noinline, SIGNS_RETURNS]] int descend(int depth, Stack& stack) {
  if (depth == 0) {
    library_capture(stack);
    return 0;
  }
  const int below = descend(depth - 1, stack);
  asm volatile("" ::: "memory");  // no tail call
  return below + 1;
}

std::string object_of(std::uintptr_t address) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(address), &info) != 0 ? info.dli_fname : "";
}

// How many frames carry the return address of descend() into itself.
std::size_t recursions(const Stack& stack) {
  std::size_t most = 0;
  for (const std::uintptr_t frame : stack.view()) {
    most = std::max<std::size_t>(most,
                                 static_cast<std::size_t>(std::ranges::count(stack.view(), frame)));
  }
  return most;
}

class Capture : public testing::TestWithParam<StackMethod> {
 protected:
  void SetUp() override {
    if (open_library_stacks(GetParam(), kMaxFrames, dlsym) != GetParam()) {
      GTEST_SKIP() << "libunwind is not installed";
    }
  }
};

TEST_P(Capture, SeesEachCallerAndNoneOfOurFrames) {
  Stack stack;
  descend(10, stack);

  EXPECT_EQ(recursions(stack), 10U);
  EXPECT_GT(stack.depth, 10U);
  for (const std::uintptr_t frame : stack.view()) {
    EXPECT_EQ(object_of(frame).find("stack_library"), std::string::npos);
  }
}

TEST_P(Capture, StopsAtTheDepthAskedFor) {
  open_library_stacks(GetParam(), 7, dlsym);
  Stack shallow;
  descend(50, shallow);
  open_library_stacks(GetParam(), 1000, dlsym);
  Stack deep;
  descend(500, deep);

  EXPECT_EQ(shallow.depth, 7U);
  EXPECT_EQ(deep.depth, kMaxFrames);
}

TEST_P(Capture, GivesEqualStacksForEqualCalls) {
  Stack stacks[2];
  const volatile int count = 2;  // one call instruction, not two
  for (int i = 0; i < count; ++i) descend(3, stacks[i]);

  EXPECT_TRUE(std::ranges::equal(stacks[0].view(), stacks[1].view()));
}

TEST_P(Capture, IsTheSameFromAStackOfOurs) {
  Stack stack;
  library_capture(stack);
  Stack elsewhere;
  library_capture_elsewhere(elsewhere);

  EXPECT_GT(stack.depth, 1U);
  EXPECT_NE(stack.frames[0], elsewhere.frames[0]);  // two calls in this very function
  EXPECT_TRUE(std::ranges::equal(stack.view().subspan(1), elsewhere.view().subspan(1)));
}

TEST_P(Capture, WorksInEveryThread) {
  std::vector<Stack> stacks(8);
  std::vector<std::thread> threads;

  for (Stack& stack : stacks) threads.emplace_back([&stack] { descend(5, stack); });
  for (std::thread& thread : threads) thread.join();

  for (const Stack& stack : stacks) EXPECT_EQ(recursions(stack), 5U);
}

TEST_P(Capture, KeepsErrno) {
  Stack stack;
  errno = 77;
  descend(3, stack);

  EXPECT_EQ(errno, 77);
}

INSTANTIATE_TEST_SUITE_P(Methods, Capture,
                         testing::Values(StackMethod::frame_pointers, StackMethod::unwind_tables),
                         [](const auto& test) {
                           return test.param == StackMethod::frame_pointers ? "FramePointers"
                                                                            : "UnwindTables";
                         });

ucontext_t main_context, other_context;
Stack foreign;

void run_on_other_stack() { descend(3, foreign); }

TEST(FramePointers, ReadNothingOutsideTheThreadsOwnStack) {
  open_library_stacks(StackMethod::frame_pointers, kMaxFrames, dlsym);
  std::vector<char> memory(256 * 1024);
  foreign.depth = 99;
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = memory.data();
  other_context.uc_stack.ss_size = memory.size();
  other_context.uc_link = &main_context;
  makecontext(&other_context, run_on_other_stack, 0);

  swapcontext(&main_context, &other_context);

  EXPECT_EQ(foreign.depth, 0U);
}

// As a runtime that was compiled without frame pointers: the register holds something else.
extern "C" void call_without_frame_pointer(void (*function)(Stack&), Stack& stack);
#ifdef __aarch64__
#define CALL_WITH_DATA_IN_FRAME_POINTER \
  "hint #34\n"                          \
  "stp x29, x30, [sp, #-16]!\n"         \
  ".cfi_def_cfa_offset 16\n"            \
  ".cfi_offset x29, -16\n"              \
  ".cfi_offset x30, -8\n"               \
  "mov x29, #4711\n"                    \
  "mov x2, x0\n"                        \
  "mov x0, x1\n"                        \
  "blr x2\n"                            \
  "ldp x29, x30, [sp], #16\n"           \
  ".cfi_restore x29\n"                  \
  ".cfi_restore x30\n"                  \
  ".cfi_def_cfa_offset 0\n"
#else
#define CALL_WITH_DATA_IN_FRAME_POINTER \
  "push %rbp\n"                         \
  ".cfi_def_cfa_offset 16\n"            \
  ".cfi_offset %rbp, -16\n"             \
  "mov $4711, %ebp\n"                   \
  "mov %rdi, %rax\n"                    \
  "mov %rsi, %rdi\n"                    \
  "call *%rax\n"                        \
  "pop %rbp\n"                          \
  ".cfi_restore %rbp\n"                 \
  ".cfi_def_cfa_offset 8\n"
#endif
asm(".text\n"
    ".type call_without_frame_pointer, %function\n"
    "call_without_frame_pointer:\n"
    ".cfi_startproc\n" CALL_WITH_DATA_IN_FRAME_POINTER
    "ret\n"
    ".cfi_endproc\n"
    ".size call_without_frame_pointer, . - call_without_frame_pointer\n");

[[gnu::noinline]] int descend_to_runtime(int depth, Stack& stack) {
  if (depth == 0) {
    call_without_frame_pointer(library_capture, stack);
    return 0;
  }
  const int below = descend_to_runtime(depth - 1, stack);
  asm volatile("" ::: "memory");  // no tail call
  return below + 1;
}

TEST(FramePointers, GoOnBehindARuntimeThatHasNone) {
  if (open_library_stacks(StackMethod::unwind_tables, kMaxFrames, dlsym) !=
      StackMethod::unwind_tables) {
    GTEST_SKIP() << "libunwind is not installed";
  }
  open_library_stacks(StackMethod::frame_pointers, kMaxFrames, dlsym);
  Stack stack;

  descend_to_runtime(5, stack);

  EXPECT_EQ(recursions(stack), 5U);
}

TEST(Stacks, FallBackToFramePointersWithoutLibunwind) {
  const DlsymFunction finds_nothing = [](void*, const char*) -> void* { return nullptr; };

  EXPECT_EQ(open_library_stacks(StackMethod::unwind_tables, 10, finds_nothing),
            StackMethod::frame_pointers);
}

TEST(Stacks, AreEmptyWhenNoneAreWanted) {
  EXPECT_EQ(open_library_stacks(StackMethod::none, 10, dlsym), StackMethod::none);
  Stack stack;
  stack.depth = 5;
  descend(3, stack);

  EXPECT_EQ(stack.depth, 0U);
}

}  // namespace
}  // namespace vramscope
