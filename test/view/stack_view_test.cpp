// Which frames are shown, which sites become one by that, and the text of their lines.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/listing/caller_names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/system/source_lines.h"
#include "reporter/view/text/trace_text.h"

namespace vramscope {
namespace {

enum Module : std::uint32_t { kDriver, kRuntime, kInterpreter, kFramework, kLibc };

// Two sites of step() through different native code, one of another line, one without Python.
Report made_report() {
  Report report;
  for (const char* path : {"/lib/libcuda.so.1", "/lib/libcudart.so.13", "/bin/python3.11",
                           "/torch/lib/libtorch.so", "/lib/libc.so.6"}) {
    report.modules.push_back({.path = path, .build_id = "", .base = 0});
  }
  report.sources = {{"/home/who/train.py", 0, 0}};
  report.codes = {{"zeros", 0, 1}, {"step", 0, 10}, {"<module>", 0, 1}};
  report.frames = {{kDriver, 1},
                   {kFramework, 2},
                   {kInterpreter, 3, 0, 5},
                   {kNoModule, 0, 1, 12},
                   {kNoModule, 0, 1, 13},
                   {kInterpreter, 4, 2, 20},
                   {kLibc, 5},
                   {kFramework, 6},
                   {kInterpreter, 7, 0, 5},
                   {kRuntime, 8}};
  report.sites.resize(4);
  report.sites[0].frames = {0, 1, 2, 3, 5, 6};
  report.sites[1].frames = {9, 7, 8, 3, 5, 6};  // other native code, and elsewhere in the loop
  report.sites[2].frames = {0, 1, 2, 4, 5, 6};
  report.sites[3].frames = {0, 1, 6};
  for (std::size_t i = 0; i < 4; ++i) {
    SiteTotals& totals = report.sites[i].totals;
    totals.peak_bytes = totals.live_bytes = 100 * (i + 1);
    totals.live_count = totals.peak_count = totals.total_count = 1;
    report.sites[i].parts = {{.kind = Kind::device, .device = 0, .totals = totals}};
    report.sites[i].sizes = std::vector<std::uint64_t>(i + 1, 1);
  }
  report.kinds = {{.kind = Kind::device, .device = 0, .peak_site = 1}};
  report.host.segments.resize(1);
  for (std::int64_t site = -1; site < 4; ++site) {
    report.host.segments[0].blocks.push_back({.site = site});
  }
  return report;
}

// All sites in a joint peak, each with 10 bytes.
Report with_joint_peak() {
  Report report = made_report();
  JointPeak& joint = report.joint_peaks.emplace_back();
  joint.facts.peak_bytes = 40;
  for (std::int64_t site = 0; site < 4; ++site) {
    joint.shares.push_back({.site = site, .kind = Kind::device, .live_bytes = 10, .live_count = 1});
  }
  return report;
}

std::string stack(const Report& report, std::size_t site) {
  return text(call_site(report, report.sites.at(site), {}, 9));
}

TEST(StackView, UsuallyShowsPythonWhereThereIsSome) {
  Report report = made_report();

  choose_frames(report, {});

  ASSERT_EQ(report.sites.size(), 3U);  // the largest first
  EXPECT_EQ(stack(report, 0), "libtorch.so+0x2 < libc.so.6+0x5");
  EXPECT_EQ(stack(report, 1), "zeros (train.py:5) < step (train.py:12) < <module> (train.py:20)");
  EXPECT_EQ(report.sites[1].totals.peak_bytes, 300U);
  EXPECT_EQ(report.sites[1].parts[0].totals.live_bytes, 300U);
  EXPECT_EQ(report.sites[1].sizes, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(stack(report, 2), "zeros (train.py:5) < step (train.py:13) < <module> (train.py:20)");
}

TEST(AlikeLeaks, AreOneWhereEveryFrameReadsTheSame) {
  Report report = made_report();
  const NameFrame name = [](const Report&, const FrameFact& frame) -> std::vector<SourceFrame> {
    if (frame.module != kFramework) return {};
    return {{.function = "grow", .file = "/src/grow.cpp", .line = 12}};  // at either offset
  };
  report.codes.clear();
  for (FrameFact& frame : report.frames) frame.code = kNoCode;
  report.sites[1].frames = {0, 7, 2, 3, 5, 6};
  report.sites[2].totals.live_bytes = 0;

  join_alike_leaks(report, name);

  ASSERT_EQ(report.sites.size(), 3U);
  EXPECT_EQ(stack(report, 0), "libtorch.so+0x2 < libc.so.6+0x5");  // the largest first
  const auto joined = std::find_if(report.sites.begin(), report.sites.end(),
                                   [](const Site& site) { return site.numbers.size() == 2; });
  ASSERT_NE(joined, report.sites.end());
  EXPECT_EQ(joined->numbers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(joined->totals.live_bytes, 300U);
}

TEST(StackView, JoinsTheSharesOfJoinedSites) {
  Report report = with_joint_peak();

  choose_frames(report, {});

  const JointPeak& joint = report.joint_peaks[0];
  ASSERT_EQ(joint.shares.size(), 3U);
  EXPECT_EQ(joint.shares[0].site, 1);
  EXPECT_EQ(joint.shares[0].live_bytes, 20U);
  EXPECT_EQ(joint.shares[0].live_count, 2U);
}

// Whose memory it is must not depend on the frames that are shown.
TEST(StackView, KeepsWholeStacksOfAJointPeak) {
  for (const StackView view : {StackView::usual, StackView::native_only}) {
    Report report = with_joint_peak();
    const std::size_t frames = report.frames.size();
    const std::vector<FrameFact> recorded = report.frames;

    choose_frames(report, {.view = view});

    ASSERT_EQ(report.joint_peaks[0].stacks.size(), 4U);
    const JointStack& second = report.joint_peaks[0].stacks[1];
    EXPECT_EQ(second.frames, (std::vector<std::uint32_t>{9, 7, 8, 3, 5, 6}));
    EXPECT_EQ(second.live_bytes, 10U);
    for (std::size_t i = 0; i < frames; ++i) EXPECT_EQ(report.frames[i].code, recorded[i].code);
  }
}

TEST(StackView, KnowsEachSiteByItsNewNumber) {
  Report report = made_report();

  choose_frames(report, {});

  EXPECT_EQ(report.kinds[0].peak_site, 1);
  std::vector<std::int64_t> sites;
  for (const BlockFacts& block : report.host.segments[0].blocks) sites.push_back(block.site);
  EXPECT_EQ(sites, (std::vector<std::int64_t>{-1, 1, 1, 2, 0}));
}

TEST(StackView, ByLineJoinsWhatTheInnermostLineAllocated) {
  Report report = made_report();

  choose_frames(report, {.by_line = true});

  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_EQ(stack(report, 0), "zeros (train.py:5)");
  EXPECT_EQ(report.sites[0].totals.peak_bytes, 600U);
}

TEST(StackView, ShowsNativeCodeOnDemand) {
  Report report = made_report();
  choose_frames(report, {.view = StackView::with_native});
  ASSERT_EQ(report.sites.size(), 4U);
  EXPECT_EQ(stack(report, 0),
            "libtorch.so+0x2 < zeros (train.py:5) < step (train.py:12) < <module> (train.py:20)");

  report = made_report();
  choose_frames(report, {.view = StackView::native_only});
  EXPECT_EQ(stack(report, 0), "libtorch.so+0x2 < python3.11+0x3 < python3.11+0x4 < libc.so.6+0x5");

  report = made_report();
  choose_frames(report, {.view = StackView::python_only});
  EXPECT_EQ(stack(report, 0), "unknown");  // the largest has no Python
}

TEST(StackView, LeavesReportsWithoutPythonAlone) {
  Report report = made_report();
  for (FrameFact& frame : report.frames) frame.code = kNoCode;
  report.codes.clear();

  choose_frames(report, {});

  EXPECT_EQ(report.sites.size(), 4U);
}

// A trace of the report's program, in which each site allocated once.
TraceNames made_names(const Report& report) {
  TraceNames names;
  RecorderFacts& facts = names.facts;
  facts.modules = report.modules;
  facts.sources = report.sources;
  facts.codes = report.codes;
  facts.frames = report.frames;
  facts.sites.own().resize(1);  // the unknown one
  facts.tags.own().resize(1);
  for (const Site& site : report.sites) {
    TagFact& tag = facts.tags.own().emplace_back();
    tag.site = static_cast<std::uint32_t>(facts.sites.size());
    facts.sites.own().push_back({.frames = site.frames});
  }
  return names;
}

std::string traced(const StackChoice& stacks) {
  const TraceNames names = made_names(made_report());
  TraceTotals totals;
  TraceFollower trace(names, {});
  trace.begin({&totals});
  for (Tag tag = 1; tag < names.facts.tags.size(); ++tag) {
    TraceEvent one;
    one.what = trace::What::came;
    one.event.effect = Effect::allocate;
    one.event.address = 0x1000 * Address{tag};
    one.event.tag = tag;
    one.event.bytes = 100 * std::uint64_t{tag};
    trace.add(one);
  }
  totals.finish();
  return render(
      trace_text({.followed = trace, .totals = totals, .stacks = stacks}, {}, Page(), RowChoice{}),
      Page());
}

TEST(StackView, OfATraceIsThatOfAReport) {
  const std::string usual = traced({});
  EXPECT_NE(usual.find(" zeros (train.py:5) < step (train.py:12) < <module>"), usual.npos) << usual;
  EXPECT_NE(usual.find("   300 B  300 B  300 B      2"), usual.npos) << "two are one: " << usual;
  EXPECT_EQ(usual.find("libtorch.so+0x2 < zeros"), usual.npos) << usual;
  EXPECT_EQ(usual.find("python3.11"), usual.npos) << usual;
  const std::string native = traced({.view = StackView::with_native});
  EXPECT_NE(native.find("libtorch.so+0x2 < zeros (train.py:5)"), native.npos) << native;
  const std::string alone = traced({.view = StackView::native_only});
  EXPECT_NE(alone.find("libtorch.so+0x2 < python3.11+0x3"), alone.npos) << alone;
}

const ShownSources kOwn{.is_own = true};

class SourceFile : public testing::Test {
 protected:
  SourceFile() {
    std::ofstream(path_) << "first\n\n   third  \r\nfourth";
    struct stat status {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    source_ = {.path = path_,
               .bytes = static_cast<std::uint64_t>(status.st_size),
               .modified_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                              static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
  }
  ~SourceFile() override { unlink(path_.c_str()); }

  std::string path_ = testing::TempDir() + "source_lines." + std::to_string(getpid()) + ".py";
  SourceFact source_;
};

TEST_F(SourceFile, GivesItsLines) {
  SourceLines lines;
  EXPECT_EQ(lines.line(source_, 1, kOwn), "first");
  EXPECT_EQ(lines.line(source_, 2, kOwn), "");
  EXPECT_EQ(lines.line(source_, 3, kOwn), "third");
  EXPECT_EQ(lines.line(source_, 4, kOwn), "fourth");
  EXPECT_EQ(lines.line(source_, 5, kOwn), "");
  EXPECT_EQ(lines.line(source_, 0, kOwn), "");
}

TEST_F(SourceFile, GivesNoneOfAnotherFile) {
  SourceFact other = source_;
  ++other.bytes;
  EXPECT_EQ(SourceLines().line(other, 1, kOwn), "");
  other = source_;
  ++other.modified_ns;
  EXPECT_EQ(SourceLines().line(other, 1, kOwn), "");
  for (const char* path : {"/dev/zero", "/", "relative.py", "", "/nowhere.py"}) {
    other.path = path;
    EXPECT_EQ(SourceLines().line(other, 1, kOwn), "") << path;
  }
}

}  // namespace
}  // namespace vramscope
