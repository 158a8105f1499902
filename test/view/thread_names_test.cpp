// Threads of one name are told by the function in which they began, or by the rank.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/listing/thread_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

// A program whose threads all are called python3: the main one, one of Python, one of C++, one
// whose stack was cut off, and one that named itself.
Report with_threads_of_one_name() {
  Report report;
  report.process.pid = 100;
  report.process.executable = "/usr/bin/python3.11";
  report.modules.resize(2);
  report.modules[0].path = "/lib/libc.so.6";
  report.modules[1].path = "/app/libload.so";
  report.sources = {{.path = "/usr/lib/python3.11/threading.py"}, {.path = "/app/train.py"}};
  report.codes = {{.name = "Thread._bootstrap", .source = 0, .first_line = 995},
                  {.name = "load_batches", .source = 1, .first_line = 20},
                  {.name = "allocate", .source = 1, .first_line = 9}};
  report.frames = {{.module = kNone, .offset = 0, .code = 2, .line = 12},
                   {.module = kNone, .offset = 0, .code = 1, .line = 23},
                   {.module = kNone, .offset = 0, .code = 0, .line = 1002},
                   {.module = 0, .offset = 0x10, .code = kNone},
                   {.module = 1, .offset = 0x20, .code = kNone},
                   {.module = 1, .offset = 0x30, .code = kNone}};
  report.threads = {{.thread = "python3 100", .frames = {0}},
                    {.thread = "python3 101", .frames = {0, 1, 2, 3}},
                    {.thread = "python3 102", .frames = {4, 5, 3}},
                    {.thread = "python3 103", .frames = {0, 1}},
                    {.thread = "writer 104", .frames = {0, 1, 2, 3}}};
  return report;
}

// Of native frames: that at 0x20 is fill(), called by the std::thread that at 0x30 began with.
std::vector<SourceFrame> native_names(const Report&, const FrameFact& frame) {
  if (frame.offset == 0x20) return {{.function = "fill(int)", .file = "/src/load.cpp", .line = 7}};
  return {{.function = "std::thread::_State_impl<std::tuple<void (*)(int), int> >::_M_run()",
           .file = "/usr/include/c++/12/bits/std_thread.h",
           .line = 210}};
}

TEST(Threads, WithoutANameAreToldByTheFunctionInWhichTheyBegan) {
  const Report report = with_threads_of_one_name();
  const NameFrame name = native_names;
  const ThreadNames threads(report, name);
  const Page page;

  EXPECT_EQ(text_of_thread(threads, "python3 100", page), "python3 100 - main thread");
  EXPECT_EQ(text_of_thread(threads, "python3 101", page),
            "python3 101 - load_batches (train.py:20)");
  EXPECT_EQ(text_of_thread(threads, "python3 102", page), "python3 102 - fill (load.cpp)");
  EXPECT_EQ(text_of_thread(threads, "python3 103", page), "python3 103")
      << "its outermost frame is unknown";
  EXPECT_EQ(text_of_thread(threads, "writer 104", page), "writer 104")
      << "it has a name of its own";
  EXPECT_EQ(threads.began("writer 104"), "load_batches (train.py:20)");
  EXPECT_EQ(threads.title({.id = 101, .name = "python3"}), "python3 - load_batches (train.py:20)");
  EXPECT_EQ(threads.title({.id = 104, .name = "writer"}), "writer");
  EXPECT_EQ(threads.title({.id = 0, .name = ""}), "") << "of no thread";
}

// The runtime is linked into the program; the thread's function went into the one that starts it.
TEST(Threads, DoNotBeginInTheRuntimeOfCuda) {
  Report report = with_threads_of_one_name();
  report.process.executable = "/app/threads";
  report.threads = {{.thread = "threads 102", .frames = {4, 5, 3}}};
  std::string run;
  const NameFrame name = [&run](const Report&, const FrameFact& frame) {
    return std::vector<SourceFrame>{
        {.function = frame.offset == 0x20 ? "cudaMalloc" : run, .file = "", .line = 0}};
  };
  const ThreadNames threads(report, name);

  run =
      "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()";
  EXPECT_EQ(threads.began("threads 102"), "");
  run =
      "std::thread::_State_impl<std::thread::_Invoker<std::tuple<pairs(unsigned "
      "int)::{lambda()#1}> > >::_M_run()";
  EXPECT_EQ(threads.began("threads 102"), "pairs::{lambda()#1}");
}

TEST(Threads, AreToldByTheFunctionThatWentIntoTheirStart) {
  Report report = with_threads_of_one_name();
  report.threads = {{.thread = "python3 102", .frames = {4, 5, 3}}};
  const NameFrame name = [](const Report&, const FrameFact& frame) {
    if (frame.offset == 0x20)
      return std::vector<SourceFrame>{{.function = "cudaMalloc", .file = "", .line = 0}};
    return std::vector<SourceFrame>{
        {.function = "work(int)", .file = "/src/load.cpp", .line = 7},
        {.function = "std::thread::_State_impl<>::_M_run()", .file = "", .line = 0}};
  };
  const ThreadNames threads(report, name);

  EXPECT_EQ(threads.began("python3 102"), "work (load.cpp)");
}

TEST(Threads, OfAMergedReportTheMainOnesAreToldByTheRank) {
  Report report = with_threads_of_one_name();
  report.processes.resize(2);
  report.processes[0].process.pid = 100;
  report.processes[0].process.rank = 3;
  report.processes[1].process.pid = 101;  // no rank is known
  const NameFrame name = native_names;
  const ThreadNames threads(report, name);

  EXPECT_EQ(threads.began("python3 100"), "main thread of rank 3");
  EXPECT_EQ(threads.began("python3 101"), "main thread");
  EXPECT_EQ(threads.began("python3 102"), "fill (load.cpp)");
}

TEST(Threads, OfTwoProcessesWithOneNameAndNumberAreNotTold) {
  Report report = with_threads_of_one_name();
  report.threads.push_back({.thread = "python3 101", .frames = {4, 5, 3}});
  const NameFrame name = native_names;

  EXPECT_EQ(ThreadNames(report, name).began("python3 101"), "");
}

}  // namespace
}  // namespace vramscope
