// Call sites: who called into CUDA.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/caller_names.h"

#include <gtest/gtest.h>

#include "test/view/sample_report.h"

namespace vramscope {
namespace {

CallSite site(std::size_t index, std::size_t most = 3) {
  const Report report = sample_report();
  return call_site(report, report.sites.at(index), sample_names(), most);
}

TEST(Frames, TheCallerIsTheFirstFrameOutsideCudaLibraries) {
  const CallSite found = site(0);

  EXPECT_EQ(found.entry, "cudaMalloc");
  EXPECT_EQ(text(found), "make_weights (train.cpp:42) < main (train.cpp:99)");
}

TEST(Frames, AFrameWithoutSymbolsIsAPlaceInItsModule) {
  EXPECT_EQ(text(site(1)), "libnet.so+0x40 < main (train.cpp:99)");
}

TEST(Frames, ARuntimeLinkedIntoTheProgramIsCudasToo) {
  const CallSite found = site(2);

  EXPECT_EQ(found.entry, "cudaMallocHost");
  EXPECT_EQ(text(found), "main (train.cpp:99)");
}

TEST(Frames, OnlySoManyAreNamed) { EXPECT_EQ(site(0, 1).callers.size(), 1u); }

TEST(Frames, WithoutNamesPlacesAreShown) {
  const Report report = sample_report();

  EXPECT_EQ(text(call_site(report, report.sites[0], {}, 3)), "train+0x20 < train+0x30");
}

TEST(Frames, AnEmptyStackOrOneOfCudaAloneIsUnknown) {
  const Report report = sample_report();

  EXPECT_EQ(text(call_site(report, Site{}, sample_names(), 3)), "unknown");
  Site cuda_alone;
  cuda_alone.frames = {0};
  EXPECT_EQ(text(call_site(report, cuda_alone, sample_names(), 3)), "unknown");
}

TEST(Frames, WhatARuntimeDidWithinIsOfTheFunctionThatWasCalled) {
  Report report = sample_report();
  const std::vector<SourceFrame> names[] = {
      {{"cudart::allocate", "", 0}}, {{"cudart::runtime::cudaMalloc", "", 0}}, {{"make", "", 0}}};
  const NameFrame name = [&, at = 0](const Report&, const FrameFact&) mutable {
    return names[at++];
  };
  Site site;
  site.frames = {0, 0, 2};

  const CudaFrames found = cuda_frames(report, site, name);

  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.entry, "cudaMalloc");
  site.frames = {2};
  EXPECT_EQ(cuda_frames(report, site, sample_names()).count, 0U);
}

TEST(Frames, TheResultTypeOfATemplateIsNoPartOfItsName) {
  Report report = sample_report();
  report.sites[0].frames = {2, 3};
  const std::vector<SourceFrame> names[] = {{{"cudaError cudart::enter<1>(void**)", "", 0}},
                                            {{"cudaError_t make<float>(float**)", "", 0}}};
  const NameFrame name = [&, at = 0](const Report&, const FrameFact&) mutable {
    return names[at++];
  };

  const CallSite found = call_site(report, report.sites[0], name, 3);

  EXPECT_EQ(found.entry, "");
  ASSERT_EQ(found.callers.size(), 1u);
  EXPECT_NE(found.callers[0].function.find("make"), std::string::npos);
}

TEST(Frames, TheStartOfAProgramIsLeftOut) {
  Report report = sample_report();
  report.sites[0].frames = {2, 3};
  const std::vector<SourceFrame> names[] = {{{"main", "train.cpp", 9}},
                                            {{"__libc_start_call_main", "", 0}}};
  const NameFrame name = [&, at = 0](const Report&, const FrameFact&) mutable {
    return names[at++];
  };

  EXPECT_EQ(text(call_site(report, report.sites[0], name, 3)), "main (train.cpp:9)");
}

TEST(Frames, TheLoadersAreLeftOut) {
  Report report = sample_report();
  report.modules.push_back({.path = "/lib64/ld-linux-x86-64.so.2", .build_id = "", .base = 0});
  report.frames.push_back({.module = 3, .offset = 0x70});
  report.sites[0].frames = {1, 6, 2};

  EXPECT_EQ(text(call_site(report, report.sites[0], sample_names(), 3)),
            "make_weights (train.cpp:42) < main (train.cpp:99)");
}

TEST(Frames, AFunctionOfTheProgramMayBeginLikeCuda) {
  Report report = sample_report();
  report.sites[0].frames = {2};
  const NameFrame name = [](const Report&, const FrameFact&) {
    return std::vector<SourceFrame>{{"cuddle", "", 0}};
  };

  EXPECT_EQ(text(call_site(report, report.sites[0], name, 3)), "cuddle");
}

TEST(Frames, OfALongNameBothEndsAreShown) {
  CallSite site;
  Caller& caller = site.callers.emplace_back();
  caller.function.assign(90, 'n');
  caller.function += "::make";
  caller.place = "a.cpp:1";

  std::string shown(17, 'n');
  shown.append("..").append(11, 'n').append("::make (a.cpp:1)");
  EXPECT_EQ(text(site), shown);
}

TEST(Frames, GeneratedCodeIsAnAddress) {
  Report report = sample_report();
  report.frames[3].module = kNoModule;

  EXPECT_EQ(text(call_site(report, report.sites[1], {}, 1)), "0x40");
}

}  // namespace
}  // namespace vramscope
