// Call stacks in the room that a page leaves them, told apart where they read alike.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/report/symbols.h"
#include "reporter/view/listing/site_listing.h"
#include "test/view/made_stacks.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

const CallSite kThree = stack(
    {caller("make", "/s/a.cpp:1"), caller("build", "/s/b.cpp:2"), caller("main", "/s/c.cpp:3")});

TEST(StackText, ShowsAsManyFramesAsThereIsRoomFor) {
  EXPECT_EQ(stack_text(kThree, 80), "make (a.cpp:1) < build (b.cpp:2) < main (c.cpp:3)");
  EXPECT_EQ(stack_text(kThree, 49), "make (a.cpp:1) < build (b.cpp:2) < main (c.cpp:3)");
  EXPECT_EQ(stack_text(kThree, 48), "make (a.cpp:1) < build (b.cpp:2) < main");
  EXPECT_EQ(stack_text(kThree, 30), "make (a.cpp:1) < build < main");
  EXPECT_EQ(stack_text({}, 30), "unknown");
}

TEST(StackText, ShortensTheInnermostNameInItsMiddle) {
  const CallSite site = stack({caller("a_function_with_a_rather_long_name", "/s/a.cpp:1")});

  EXPECT_EQ(stack_text(site, 44), "a_function_with_a_rather_long_name (a.cpp:1)");
  EXPECT_EQ(stack_text(site, 30), "a_functio..long_name (a.cpp:1)");
}

TEST(StackText, ShortensTemplateArgumentsBeforeNames) {
  const std::string full = "void copy_all<thrust::tuple<int, float>, Device>::run(int)";

  EXPECT_EQ(shorten(full), "copy_all<...>::run");
  EXPECT_EQ(shorten(full, 80), "copy_all<thrust::tuple<int, float>, Device>::run");
  EXPECT_EQ(shorten(full, 40), "copy_all<thrust::tu..t>, Device>::run");
  EXPECT_EQ(shorten(full, 10), "copy_all<...>::run");
  EXPECT_EQ(without_signature(full), "copy_all<thrust::tuple<int, float>, Device>::run");
  EXPECT_EQ(shorten("load.<lambda>"), "load.<lambda>");
  EXPECT_EQ(shorten("<module>"), "<module>");
  EXPECT_EQ(stack_text(stack({caller(full, "/s/a.cpp:1")}), 50),
            "copy_all<thrust::t..>, Device>::run (a.cpp:1)");
}

TEST(StackText, TellsStacksApartByTheFirstFrameThatDiffers) {
  const auto under = [](const Caller& last) {
    std::vector<Caller> callers(5, caller("wrap", "/s/w.cpp:7"));
    callers.push_back(last);
    callers.push_back(caller("main", "/s/c.cpp:3"));
    return stack(std::move(callers));
  };

  const auto texts =
      told({under(caller("load", "/s/l.cpp:1")), under(caller("save", "/s/l.cpp:9"))}, 40);

  EXPECT_EQ(texts[0], "wrap × 5 (w.cpp:7) < load (l.cpp:1) < ..");
  EXPECT_EQ(texts[1], "wrap × 5 (w.cpp:7) < save (l.cpp:9) < ..");
}

// Seen of a program that allocates through one function: every row began with its two frames, and
// whose memory it was stood behind them, where there was no room.
TEST(StackText, OfRowsThatBeginInOneHelperThoseWhoCallItAreShown) {
  const auto of = [](int line, const char* user) {
    return stack({caller("helper", "/s/w.cpp:" + std::to_string(line)),
                  caller("allocate_bytes", "/s/w.cpp:9"), caller(user, "/s/m.cpp:1"),
                  caller("main", "/s/c.cpp:3")});
  };

  const auto texts = told({of(7, "load_model"), of(8, "embedding_table")}, 44);

  EXPECT_EQ(texts[0], "helper (w.cpp:7) < .. < load_model (m.cpp:1)");
  EXPECT_EQ(texts[1], "helper (w.cpp:8) < .. < embedding_table:1");
  EXPECT_EQ(told({of(7, "load_model")}, 44)[0].find("load_model"), std::string::npos)
      << "alone nobody knows that it is a helper";
}

TEST(StackText, WhatHasNoRowTellsAHelperToo) {
  const auto of = [](const char* user) {
    return named({"Tensor.__init__.<locals>.<lambda> (a.py:12)", "Tensor.__init__ (a.py:13)",
                  std::string(user) + " (a.py:20)"});
  };
  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{of("metrics")}, 40)[0],
            "Tensor.__init__.<lambda> (a.py:12) < ..");
  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{of("metrics")}, 44,
                        std::vector<SharedCallers>{of("load")})[0],
            "Tensor.__init__.<lambda> (a.py:12) < ..")
      << "the innermost frame keeps its place before a caller is named";
  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{of("metrics")}, 46,
                        std::vector<SharedCallers>{of("load")})[0],
            "Tensor._..<lambda> (a.py:12) < .. < metrics:20");
  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{of("metrics"), of("load")}, 40)[0],
            "Tensor._..<lambda>:12 < .. < metrics:20")
      << "but where rows would read alike";
}

TEST(StackText, TheFrameThatIsWantedIsShown) {
  const CallSite site =
      stack({caller("helper", "/s/w.cpp:7"), caller("allocate_bytes", "/s/w.cpp:9"),
             caller("forward", "/s/m.cpp:1"), caller("main", "/s/c.cpp:3")});
  const auto texts =
      stack_texts({site}, 40, [&](std::size_t) { return site; },
                  {.is_wanted = [](const Caller& one) { return one.function == "forward"; }});

  EXPECT_EQ(texts[0].text, "helper (w.cpp:7) < .. < forward:1 < main");
  EXPECT_EQ(texts[0].told_by, 2U);
}

TEST(StackText, TellsThreeApartOfWhichTwoDifferLater) {
  const auto of = [](const std::string& a, const std::string& b) {
    std::vector<Caller> callers = {caller("step", "/s/w.cpp:1")};
    for (int i = 2; i < 10; ++i) {
      callers.push_back(caller("step" + std::to_string(i), "/s/w.cpp:" + std::to_string(i)));
    }
    callers.push_back(caller(a));
    callers.push_back(caller(b));
    return stack(std::move(callers));
  };

  const auto texts = told({of("x", "p"), of("y", "p"), of("y", "q")}, 40);

  EXPECT_EQ(texts[0], "step (w.cpp:1) < step2 < step3 < .. < x");
  EXPECT_EQ(texts[1], "step (w.cpp:1) < step2 < .. < y < p");
  EXPECT_EQ(texts[2], "step (w.cpp:1) < step2 < .. < y < q");
}

// A helper that all allocate by, two steps that call it, and two places that call each step.
TEST(StackText, KeepsWhatToldRowsApartBefore) {
  const auto of = [](const std::string& step, const std::string& line) {
    return stack({caller("tensor", "/s/train.py:10"), caller(step, "/s/train.py:35"),
                  caller("train_half", "/s/train.py:58"), caller("main", "/s/train.py:" + line)});
  };

  const auto texts = told({of("log_metrics", "64"), of("log_metrics", "66"), of("backward", "64"),
                           of("backward", "66")},
                          40);

  EXPECT_EQ(texts[0], "tensor:10 < log_metrics < .. < main:64");
  EXPECT_EQ(texts[1], "tensor:10 < log_metrics < .. < main:66");
  EXPECT_EQ(texts[2], "tensor:10 < backward < .. < main:64");
  EXPECT_EQ(texts[3], "tensor:10 < backward < .. < main:66");
}

// Seen of a leak: its line gave way to the name of who called it.
TEST(StackText, TheInnermostFrameKeepsItsPlaceBeforeACallerIsNamed) {
  const CallSite site = stack({caller("alloc", "/s/train.py:10"),
                               caller("confusion_matrix", "/s/train.py:37"), caller("main")});
  EXPECT_EQ(stack_text(site, 40), "alloc (train.py:10) < ..");
  EXPECT_EQ(stack_text(site, 44), "alloc (train.py:10) < confusion_matrix < ..");
}

TEST(StackText, OfALibrarysFrameTheProgramsOwnIsShownWithItsPlace) {
  const CallSite site =
      stack({caller("cv::cuda::GpuMat::reserve", "/usr/include/gpu/mat.hpp:79"),
             caller("cv::cuda::GpuMat::grow", "/usr/include/gpu/mat.hpp:90"),
             caller("load_weights", "/s/m.cpp:12"), caller("main", "/s/m.cpp:40")});

  EXPECT_EQ(told({site}, 50)[0], "cv::cuda..:reserve < .. < load_weights (m.cpp:12)");
}

// Seen of a merged report: a row that was alone showed its ninth frame in the place of the first.
TEST(StackText, OfARowThatIsAloneNothingHasToBeTold) {
  std::vector<std::string> frames = {"work.malloc (train.py:7)", "work.log_loss (train.py:13)"};
  for (int i = 0; i < 6; ++i) frames.push_back("run (r.py:" + std::to_string(i) + ")");
  frames.emplace_back("Process._Popen (context.py:224)");
  frames.emplace_back("main (train.py:40)");

  EXPECT_EQ(stack_texts(std::vector<SharedCallers>{named(frames)}, 60)[0],
            "work.malloc (train.py:7) < work.log_loss (train.py:13) < ..");
}

TEST(StackText, TellsApartByTemplateArgumentsPathsAndAddresses) {
  const auto pair = [](const Caller& a, const Caller& b) {
    return told({stack({a}), stack({b})}, 40);
  };

  const auto typed =
      pair(caller("put<float>()", "/s/a.cpp:1"), caller("put<double>()", "/s/a.cpp:1"));
  EXPECT_EQ(typed[0], "put<float> (a.cpp:1)");
  EXPECT_EQ(typed[1], "put<double> (a.cpp:1)");

  const std::string longer = "put<one_template_argument_that_is_far_too_long_for_a_row, ";
  const auto windows = pair(caller(longer + "float, tail_of_it_that_is_long_too>()", "/s/a.cpp:1"),
                            caller(longer + "int32, tail_of_it_that_is_long_too>()", "/s/a.cpp:1"));
  EXPECT_NE(windows[0].find("float"), std::string::npos) << windows[0];
  EXPECT_NE(windows[1].find("int32"), std::string::npos) << windows[1];

  const auto paths = pair(caller("put", "/s/one/a.cpp:1"), caller("put", "/s/two/a.cpp:1"));
  EXPECT_EQ(paths[0], "put (/s/one/a.cpp:1)");
  EXPECT_EQ(paths[1], "put (/s/two/a.cpp:1)");

  const auto places =
      pair(caller("put", "/s/a.cpp:1", "train+0x10"), caller("put", "/s/a.cpp:1", "train+0x20"));
  EXPECT_EQ(places[0], "put (a.cpp:1, train+0x10)");
  EXPECT_EQ(places[1], "put (a.cpp:1, train+0x20)");

  // Where both do not fit it is the address that tells.
  const auto narrow = told({stack({caller("put", "/s/a.cpp:1", "train+0x10")}),
                            stack({caller("put", "/s/a.cpp:1", "train+0x20")})},
                           20);
  EXPECT_EQ(narrow[1], "put (train+0x20)");
}

TEST(StackText, LeavesStacksThatAreTheSame) {
  EXPECT_EQ(told({kThree, kThree}, 30),
            (std::vector<std::string>(2, "make (a.cpp:1) < build < main")));
}

TEST(StackText, OfAStackThatEndedWhereAnotherGoesOnIsTheOneWithoutMore) {
  CallSite two = kThree;
  two.callers.pop_back();

  EXPECT_EQ(told({kThree, two}, 40)[1], "make (a.cpp:1) < build (b.cpp:2)");
  EXPECT_NE(told({kThree, two}, 40)[0], told({kThree, two}, 40)[1]);
}

TEST(StackText, WholeStacksHaveTypesPathsAndLines) {
  const Report report = golden_report();
  const CallSite site = call_site(report, report.sites[1], golden_names(), kAllFrames);

  EXPECT_EQ(whole_stack_text(site, Page{.width = 60}, 4),
            "    make_tensor(unsigned long)\n"
            "      at /src/net/tensor.cpp:31 in /app/bin/train\n"
            "    Layer::forward(Tensor const&)\n"
            "      at /src/net/layer.cpp:58 in /app/bin/train\n"
            "    Net::step(Batch const&)\n"
            "      at /src/net/net.cpp:140 in /app/bin/train\n"
            "    main\n"
            "      at /src/train.cpp:99 in /app/bin/train\n");
}

TEST(SiteListing, HasACallColumnWhereCallsDiffer) {
  const Report report = golden_report();
  const NameFrame name = golden_names();
  SiteListing table(report, name, {{"BYTES", Table::Align::right}, {"WHERE"}},
                    SiteListing::Calls::shown);
  table.add({"1"}, 7);
  EXPECT_EQ(table.text(Page{.width = 80}),
            "  BYTES  WHERE\n"
            "      1  libkernels.so+0x10c0 < main (train.cpp:99)\n"
            "  All by cudaMallocManaged.\n");
  table.add({"2"}, 8);
  EXPECT_EQ(table.text(Page{.width = 80}),
            "  BYTES  CALL               WHERE\n"
            "      1  cudaMallocManaged  libkernels.so+0x10c0 < main (train.cpp:99)\n"
            "      2  cudaMallocHost     load_epoch (loader.cpp:203) < main (train.cpp:99)\n");
  EXPECT_NE(table.text(Page{.width = 50}).find("No room for CALL"), std::string::npos);
}

TEST(SiteListing, LeavesFortyColumnsForStacks) {
  const Report report = golden_report();
  const NameFrame name = golden_names();
  SiteListing table(report, name,
                    {{"FIRST", Table::Align::right},
                     {"SECOND", Table::Align::right, 1},
                     {"THIRD", Table::Align::right, 2},
                     {"FOURTH", Table::Align::right, 3},
                     {"WHERE"}});
  for (int site = 0; site < 7; ++site) table.add({"1", "2", "3", "4"}, site);
  bool left_out_one = false;
  bool showed_all = false;
  for (std::size_t width = 60; width <= 200; ++width) {
    const std::string text = table.text(Page{.width = width});
    EXPECT_LE(text.find("WHERE") + 40, width) << text;
    left_out_one = left_out_one || text.find("No room for FOURTH: ") != std::string::npos;
    showed_all = showed_all || text.find("No room for") == std::string::npos;
  }
  EXPECT_TRUE(left_out_one);
  EXPECT_TRUE(showed_all);
}

}  // namespace
}  // namespace vramscope
