// Where a call stack begins as it is shown: behind wrappers, and with a recursion as one frame.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/view/listing/site_listing.h"
#include "test/view/made_stacks.h"

namespace vramscope {
namespace {

Caller of_std(const std::string& function) {
  return caller("std::" + function, "/usr/include/c++/12/bits/stl_vector.h:395");
}

TEST(StackFront, TheStandardLibraryDoesNotStandThere) {
  const CallSite site = stack({of_std("vector<float>::reserve"), of_std("vector<float>::grow"),
                               caller("load_weights", "/s/m.cpp:12"), of_std("invoke"),
                               caller("main", "/s/m.cpp:40")});

  const StackText text = stack_texts({site}, 90, [&](std::size_t) { return site; })[0];

  EXPECT_EQ(text.text,
            "load_weights (m.cpp:12) < std::invoke (stl_vector.h:395) < main (m.cpp:40)");
  EXPECT_EQ(text.front, 2U);
  EXPECT_EQ(text.told_by, 2U);
  const CallSite nothing_else = stack({of_std("a"), of_std("b")});
  EXPECT_EQ(told({nothing_else}, 80)[0], "std::a (stl_vector.h:395) < std::b (stl_vector.h:395)");
}

// By name, and by who calls them.
TEST(StackFront, WrappersDoNotStandThere) {
  const auto of = [](const Caller& wrapper, const std::string& user) {
    return stack({wrapper, of_std("vector<float>::reserve"), caller(user, "/s/m.cpp:1"),
                  caller("main", "/s/c.cpp:3")});
  };
  for (const char* name : {"device_alloc<float>(int)", "Net::Buffer<int>::Buffer(int)",
                           "Pool::cudaMallocOrDie(unsigned long)", "ReAllocate()"}) {
    const Caller wrapper = caller(name, "/s/w.cpp:7");
    EXPECT_EQ(told({of(wrapper, "load"), of(wrapper, "save")}, 80),
              (std::vector<std::string>{"load (m.cpp:1) < main (c.cpp:3)",
                                        "save (m.cpp:1) < main (c.cpp:3)"}));
    EXPECT_TRUE(told({of(wrapper, "load")}, 80)[0].starts_with(without_signature(name)))
        << "alone nobody knows that it is one";
  }
  const Caller step = caller("step", "/s/w.cpp:7");
  EXPECT_TRUE(told({of(step, "load"), of(step, "save")}, 80)[0].starts_with("step (w.cpp:7)"));
  EXPECT_TRUE(
      told({of(step, "a"), of(step, "b"), of(step, "c")}, 80)[0].starts_with("a (m.cpp:1)"));
  const Caller build = caller("build<std::allocator<int> >()", "/s/w.cpp:7");
  EXPECT_TRUE(told({of(build, "load"), of(build, "save")}, 80)[0].starts_with("build<"));
}

TEST(StackFront, OfCodeWithoutNamesNobodyKnowsWrappers) {
  const auto of = [](const char* user) {
    return stack({caller("a.out+0x10", "", "a.out+0x10"), caller(user, "", user)});
  };

  EXPECT_EQ(told({of("a.out+0x20"), of("a.out+0x30"), of("a.out+0x40")}, 80)[0],
            "a.out+0x10 < a.out+0x20");
}

TEST(StackFront, WhatAllocatesAtSeveralLinesIsNoWrapper) {
  const auto of = [](int line, const char* user) {
    return stack(
        {caller("alloc_buffers", "/s/w.cpp:" + std::to_string(line)), caller(user, "/s/m.cpp:1")});
  };

  EXPECT_EQ(told({of(7, "load"), of(8, "save")}, 80),
            (std::vector<std::string>{"alloc_buffers (w.cpp:7) < load (m.cpp:1)",
                                      "alloc_buffers (w.cpp:8) < save (m.cpp:1)"}));
}

TEST(StackFront, WrappersOfWrappersGoToo) {
  const auto of = [](const char* user) {
    return stack({caller("gpu_alloc", "/s/w.cpp:3"), caller("checked_alloc", "/s/w.cpp:9"),
                  of_std("allocator_traits<A>::allocate"), caller("Buffer::Buffer", "/s/b.cpp:5"),
                  caller(user, "/s/m.cpp:1")});
  };

  EXPECT_EQ(told({of("load"), of("save")}, 80),
            (std::vector<std::string>{"load (m.cpp:1)", "save (m.cpp:1)"}));
}

// Two rows of one line, of which one goes through a wrapper: without it they would be the same.
TEST(StackFront, IsShownWhereRowsWouldReadAlike) {
  const Caller wrapper = caller("gpu_alloc", "/s/w.cpp:3");
  const Caller load = caller("load", "/s/m.cpp:1");
  const auto texts =
      told({stack({wrapper, load}), stack({load}), stack({wrapper, caller("save", "/s/m.cpp:9")}),
            stack({of_std("grow"), caller("step", "/s/m.cpp:5")}),
            stack({of_std("reserve"), caller("step", "/s/m.cpp:5")})},
           80);

  EXPECT_EQ(texts[0], "gpu_alloc (w.cpp:3) < load (m.cpp:1)");
  EXPECT_EQ(texts[1], "load (m.cpp:1)");
  EXPECT_EQ(texts[2], "save (m.cpp:9)");
  EXPECT_EQ(texts[3], "std::grow (stl_vector.h:395) < step (m.cpp:5)");
  EXPECT_EQ(texts[4], "std::reserve (stl_vector.h:395) < step (m.cpp:5)");
}

TEST(StackFront, IsShownWhereItIsWanted) {
  const CallSite site = stack({of_std("grow"), of_std("reserve"), caller("step", "/s/m.cpp:5")});
  const auto texts =
      stack_texts({site}, 80, [&](std::size_t) { return site; },
                  {.is_wanted = [](const Caller& one) { return one.function == "std::reserve"; }});

  EXPECT_EQ(texts[0].text, "std::reserve (stl_vector.h:395) < step (m.cpp:5)");
}

// Rows ended in five frames of std::thread's, and the program's own had no room.
TEST(StackEnd, WhatBeginsAThreadDoesNotStandThere) {
  const Caller work = caller("worker", "/s/t.cpp:9");
  const Caller load = caller("load", "/s/t.cpp:3");
  const auto thread = [&](std::vector<Caller> callers) {
    callers.push_back(of_std("__invoke<void (*)(int), int>"));
    callers.push_back(of_std("thread::_Invoker<std::tuple<void (*)(int), int> >::operator()"));
    callers.push_back(of_std("thread::_State_impl<std::thread::_Invoker<> >::_M_run()"));
    callers.push_back(caller("execute_native_thread_routine", "thread.cc:82"));
    callers.push_back(caller("start_thread", "pthread_create.c:442"));
    return stack(callers);
  };
  Caller unnamed = caller("libstdc++.so.6+0xd44a3", "", "libstdc++.so.6+0xd44a3");
  unnamed.module = "/lib/libstdc++.so.6";
  const auto texts = told({thread({load, work}), stack({work, of_std("invoke"), unnamed}),
                           thread({}), stack({load, of_std("invoke")})},
                          500);

  EXPECT_EQ(texts[0], "load (t.cpp:3) < worker (t.cpp:9)");
  EXPECT_EQ(texts[1], "worker (t.cpp:9)");
  EXPECT_TRUE(texts[2].ends_with(" < start_thread (pthread_create.c:442)")) << "it has no other";
  EXPECT_EQ(texts[3], "load (t.cpp:3) < std::invoke (stl_vector.h:395)") << "no thread begins here";
}

TEST(Recursion, IsOneFrameWithHowOftenItIsThere) {
  std::vector<Caller> callers(200, caller("rec(int)", "/s/r.cpp:3"));
  callers.insert(callers.begin(), caller("leaf", "/s/r.cpp:1"));
  callers.push_back(caller("main", "/s/r.cpp:7"));
  const CallSite site = stack(callers);

  EXPECT_EQ(told({site}, 80)[0], "leaf (r.cpp:1) < rec × 200 (r.cpp:3) < main (r.cpp:7)");
  EXPECT_EQ(told({site}, 38)[0], "leaf (r.cpp:1) < rec × 200 < main");
  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{named(
                            {"leaf (r.py:1)", "rec (r.py:3)", "rec (r.py:5)", "main (r.py:7)"})},
                        80)[0],
            "leaf (r.py:1) < rec × 2 (r.py) < main (r.py:7)");
}

TEST(Recursion, OverSeveralFunctionsIsOneFrameOfEach) {
  std::vector<Caller> callers;
  for (int i = 0; i < 15; ++i) {
    callers.push_back(caller("even(int)", "/s/r.cpp:6"));
    callers.push_back(caller("odd(int)", "/s/r.cpp:5"));
  }
  const CallSite often = stack(callers);
  callers.resize(4);
  const CallSite twice = stack(callers);

  EXPECT_EQ(told({often}, 80)[0], "even × 15 (r.cpp:6) < odd × 15 (r.cpp:5)");
  EXPECT_EQ(told({twice}, 80)[0],
            "even (r.cpp:6) < odd (r.cpp:5) < even (r.cpp:6) < odd (r.cpp:5)");
}

TEST(Recursion, OfOtherTypesOrFilesIsNone) {
  const CallSite site = stack({caller("put(int)", "/s/r.cpp:3"), caller("put(float)", "/s/r.cpp:4"),
                               caller("<module>", "/s/a.py:1"), caller("<module>", "/s/b.py:1")});

  EXPECT_EQ(told({site}, 90)[0],
            "put (r.cpp:3) < put (r.cpp:4) < <module> (a.py:1) < <module> (b.py:1)");
}

TEST(Recursion, RowsThatDifferWithinItAreToldApart) {
  const auto of = [](int line, int times) {
    std::vector<Caller> callers(static_cast<std::size_t>(times), caller("rec", "/s/r.cpp:3"));
    callers[1] = caller("rec", "/s/r.cpp:" + std::to_string(line));
    return stack(callers);
  };

  const auto by_depth = told({of(3, 20), of(3, 10)}, 80);
  EXPECT_EQ(by_depth[0], "rec × 20 (r.cpp:3)");
  EXPECT_EQ(by_depth[1], "rec × 10 (r.cpp:3)");
  const auto by_line = told({of(4, 20), of(5, 20)}, 80);
  EXPECT_NE(by_line[0].find("rec (r.cpp:4)"), std::string::npos) << by_line[0];
  EXPECT_NE(by_line[1].find("rec (r.cpp:5)"), std::string::npos) << by_line[1];
}

TEST(Recursion, HasALetterWhereThereIsNoUnicode) {
  EXPECT_EQ(printable("rec × 20 < né", Page{.unicode = false}), "rec x 20 < n?");
}

}  // namespace
}  // namespace vramscope
