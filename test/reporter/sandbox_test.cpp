// What a child process does that reads what anybody may have written, and what is told of its end.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/sandbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <vector>

namespace vramscope {
namespace {

TEST(Sandbox, GivesTheTextOfTheWork) {
  int here = 1;

  const ApartAnswer answer = run_apart({}, [&] {
    here = 2;
    return std::string(100000, 'x');
  });

  EXPECT_EQ(answer.text, std::string(100000, 'x'));
  EXPECT_EQ(answer.problem, "");
  EXPECT_EQ(here, 1);
}

TEST(Sandbox, AnExceptionIsTheProblem) {
  const ApartAnswer answer =
      run_apart({}, []() -> std::string { throw std::runtime_error("why"); });

  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.problem, "why");
}

TEST(Sandbox, ASignalIsToldByName) {
  for (const auto& [signal, name] : {std::pair(SIGSEGV, "SIGSEGV"), std::pair(SIGBUS, "SIGBUS")}) {
    const ApartAnswer answer = run_apart({}, [signal = signal] {
      raise(signal);
      return std::string("not reached");
    });

    EXPECT_EQ(answer.text, "");
    EXPECT_EQ(answer.problem, std::string("reading it ended with ") + name);
  }
}

TEST(Sandbox, AnEndWithoutAnAnswerIsAProblem) {
  const ApartAnswer answer = run_apart({}, []() -> std::string { _exit(3); });

  EXPECT_EQ(answer.problem, "reading it ended with status 3");
}

TEST(Sandbox, WorkWithoutAnEndIsEnded) {
  const auto waits = [] {
    pause();
    return std::string();
  };
  EXPECT_EQ(run_apart({.wait_seconds = 1}, waits).problem, "reading it takes too long");

  const auto computes = []() -> std::string {
    while (true) asm volatile("");
  };
  EXPECT_EQ(run_apart({.cpu_seconds = 1}, computes).problem, "reading it takes too long");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have their own limits
TEST(Sandbox, MemoryIsLimited) {
  const ApartAnswer answer = run_apart({.address_bytes = 64 << 20}, [] {
    std::vector<std::string> all;
    while (all.size() < 4096) all.emplace_back(std::size_t{1} << 20, 'x');
    return std::string("4 GiB");
  });

  EXPECT_EQ(answer.problem, "there is not enough memory for it");
}
#endif

}  // namespace
}  // namespace vramscope
