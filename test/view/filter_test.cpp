// Filters leave out of a report what a listing is not about, alike for every verb.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/filter/filter.h"

#include <gtest/gtest.h>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_filter.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/words.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

Report filtered(const Filter& filter, const FilterUse& use = {}) {
  Report report = sample_report();
  report.oom = sample_refusals();
  EXPECT_EQ(cannot_filter(filter, use), "");
  filter_report(report, filter, use, sample_names());
  return report;
}

std::vector<std::int64_t> numbers(const Report& report) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < report.sites.size(); ++i) result.push_back(site_number(report, i));
  return result;
}

using Numbers = std::vector<std::int64_t>;

// Threads 1 and 2 of a program have tags 1 and 2.
TraceNames two_threads() {
  TraceNames names;
  names.facts.threads = {{}, {.id = 10, .name = "main"}, {.id = 11, .name = "loader"}};
  names.facts.tags.own().resize(3);
  for (const std::uint32_t tag : {1U, 2U}) {
    names.facts.tags.own()[tag].values[static_cast<std::size_t>(Axis::thread)] = tag;
  }
  return names;
}

TEST(Filter, OfAKindLeavesItsSitesAndSums) {
  const Report report = filtered({.kind = "pinned"});

  EXPECT_EQ(numbers(report), Numbers{2});
  ASSERT_EQ(report.kinds.size(), 1U);
  EXPECT_EQ(report.kinds[0].kind, Kind::pinned);
  ASSERT_EQ(report.ledger.size(), 1U);
  EXPECT_EQ(report.ledger[0].kind, "pinned");
  ASSERT_EQ(report.oom.events.size(), 1U);
  EXPECT_EQ(report.oom.events[0].site, 0) << "where site 2 is now";
}

TEST(Filter, KindsAreKnownByWhatPeopleSay) {
  for (const char* const word : {"stream_ordered", "async", "stream-ordered", "Async"}) {
    EXPECT_EQ(kind_of(word), Kind::stream_ordered) << word;
    EXPECT_TRUE((Filter{.kind = word}).passes(Kind::stream_ordered, 0)) << word;
    EXPECT_FALSE((Filter{.kind = word}).passes(Kind::device, 0)) << word;
  }
  EXPECT_EQ(kind_of("gpu"), Kind::device);
  EXPECT_EQ(kind_of("page-locked"), Kind::pinned);
  EXPECT_EQ(memory_name(Kind::stream_ordered, 1), "GPU 1 stream_ordered");
  EXPECT_NE(not_a_kind("disk").find("'disk' is none of device, pinned"), std::string::npos);
}

TEST(Filter, OfADeviceLeavesNothingOfTheHost) {
  EXPECT_EQ(numbers(filtered({.device = 0})), (Numbers{0, 1}));
  EXPECT_TRUE(filtered({.device = 1}).sites.empty());
  EXPECT_EQ(filtered({.device = 1}).devices.size(), 1U);
}

TEST(Filter, OfASiteLooksAtFunctionsFilesAndObjects) {
  EXPECT_EQ(numbers(filtered({.site = "^make_w"})), Numbers{0});
  EXPECT_EQ(numbers(filtered({.site = "libnet"})), Numbers{1});
  EXPECT_EQ(numbers(filtered({.site = "train\\.cpp$"})), (Numbers{0, 1, 2}));
  EXPECT_EQ(numbers(filtered({.site = "train\\.cpp:42"})), Numbers{0}) << "as rows have it";
  EXPECT_EQ(numbers(filtered({.site = "main.*:99"})), (Numbers{0, 1, 2}));
  EXPECT_TRUE(filtered({.site = "nowhere"}).sites.empty());
}

// Once "Cache" found functions with such an argument, which no row shows.
TEST(Filter, OfASiteLooksAtArgumentsOnlyWithABracket) {
  EXPECT_TRUE(filtered({.site = "unsigned"}).sites.empty());
  EXPECT_TRUE(filtered({.site = "int, float"}).sites.empty());
  EXPECT_EQ(numbers(filtered({.site = "\\(int, float\\)"})), Numbers{0});
  EXPECT_EQ(numbers(filtered({.site = "make_weights \\("})), Numbers{0}) << "as rows have it";
}

TEST(Filter, OfAnOwnerAsksWhoseCodeCalled) {
  EXPECT_EQ(numbers(filtered({.owner = "program"})), (Numbers{0, 2}));
  EXPECT_EQ(numbers(filtered({.owner = "libnet.so"})), Numbers{1});
}

Report with_large_rows(const Filter& filter, const FilterUse& use, const RowOfSite& row_of = {}) {
  Report report = filtered(filter, use);
  leave_out_small_rows(report, filter, use, row_of);
  return report;
}

TEST(Filter, OfBytesMeasuresWhatTheListingIsAbout) {
  EXPECT_EQ(numbers(with_large_rows({.min_bytes = "256MiB"}, {.measure = Measure::peak})),
            (Numbers{0, 1}));
  EXPECT_EQ(numbers(with_large_rows({.min_bytes = "1"}, {.measure = Measure::live})), Numbers{1});
}

// Sites were left out one by one, before they became the rows that a person sees.
TEST(Filter, OfBytesMeasuresTheRowsInWhichSitesStand) {
  const auto one_row = [](std::size_t) { return std::size_t{0}; };
  EXPECT_EQ(numbers(filtered({.min_bytes = "512MiB"})).size(), numbers(sample_report()).size());
  const Report joined =
      with_large_rows({.min_bytes = "700MiB"}, {.measure = Measure::peak}, one_row);
  EXPECT_GE(numbers(joined).size(), 2U);
  EXPECT_TRUE(
      numbers(with_large_rows({.min_bytes = "700MiB"}, {.measure = Measure::peak})).empty());
}

TEST(Filter, OfKindsLeavesTotalsOfThePartsThatAreLeft) {
  Report report = sample_report();
  SitePart managed = report.sites[0].parts[0];
  managed.kind = Kind::managed;
  managed.totals.peak_bytes = 7;
  report.sites[0].parts.push_back(managed);

  filter_report(report, {.kind = "managed"}, {}, {});

  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_EQ(report.sites[0].totals.peak_bytes, 7U);
  EXPECT_EQ(shares_of_peak(report).size(), 1U);
}

TEST(Filter, BlocksAndPeaksKeepTheirSites) {
  Report report = sample_report();
  report.devices[0].segments = {
      {.total_size = 8, .blocks = {{.size = 4, .site = 0}, {.size = 4, .site = 1}}}};

  filter_report(report, {.site = "libnet"}, {}, sample_names());

  EXPECT_EQ(report.kinds[0].peak_site, 0) << "site 1 of the file";
  EXPECT_EQ(report.devices[0].segments[0].blocks[0].site, -1);
  EXPECT_EQ(report.devices[0].segments[0].blocks[1].site, 0);
}

TEST(Filter, ValuesOfAxesAreFoundByTheirParts) {
  EXPECT_TRUE((Filter{.thread = "loader"}).passes(Axis::thread, "loader 4711"));
  EXPECT_TRUE((Filter{.thread = "4711"}).passes(Axis::thread, "my loader 4711"));
  EXPECT_FALSE((Filter{.thread = "load"}).passes(Axis::thread, "loader 4711"));
  EXPECT_TRUE((Filter{.stream = "3"}).passes(Axis::stream, "stream 3"));
  EXPECT_FALSE((Filter{.stream = "3"}).passes(Axis::stream, "stream 30"));
  EXPECT_TRUE((Filter{.range = "forward"}).passes(Axis::range, "epoch/forward/conv"));
  EXPECT_TRUE((Filter{.range = "epoch"}).passes(Axis::range, "epoch/forward"));
  EXPECT_TRUE((Filter{.range = "epoch/forward"}).passes(Axis::range, "epoch/forward"));
  EXPECT_FALSE((Filter{.range = "forw"}).passes(Axis::range, "epoch/forward"));
  EXPECT_TRUE((Filter{.range = "none"}).passes(Axis::range, "none"));
  EXPECT_TRUE((Filter{.range = "none"}).passes(Axis::range, "")) << "as refusals have it";
  EXPECT_FALSE((Filter{.range = "none"}).passes(Axis::range, "epoch"));
}

TEST(Filter, WhatAReportCannotAnswerNamesTheFileThatWould) {
  const FilterUse peak{.inputs = Inputs::both, .of_a_trace = "peak"};
  const Filter loader{.kind = "device", .thread = "my loader"};

  EXPECT_EQ(cannot_filter(loader, peak),
            "--thread: a report has sums by thread alone (vramscope owners --by thread), and does "
            "not tell places of one apart; a trace does, which run --trace FILE makes: vramscope "
            "peak --kind device --thread 'my loader' FILE");
  EXPECT_TRUE(cannot_filter(loader, peak, "a b.trace")
                  .ends_with("; its trace does: vramscope peak --kind device --thread 'my loader' "
                             "'a b.trace'"));
  EXPECT_NE(cannot_filter({.from = "1s"}, {}).find("vramscope trace --from 1s"), std::string::npos);
  EXPECT_EQ(cannot_filter({.thread = "x"}, {.axis = Axis::thread}), "");
  EXPECT_NE(cannot_filter({.site = "x"}, {.axis = Axis::owner}), "");
  EXPECT_NE(cannot_filter({.owner = "x"}, {.axis = Axis::thread}), "");
}

TEST(Filter, OfWhatAnOptionIsAnsweredFollowsFromWhatIsRefused) {
  const FilterUse peak{.inputs = Inputs::both};
  EXPECT_EQ(answers(peak, "--device"), Answers::always);
  EXPECT_EQ(answers(peak, "--min-bytes"), Answers::always);
  EXPECT_EQ(answers(peak, "--stream"), Answers::of_traces);
  EXPECT_EQ(answers({}, "--stream"), Answers::never) << "of a listing that takes no trace";
  EXPECT_EQ(answers({.inputs = Inputs::traces}, "--stream"), Answers::always);
  EXPECT_EQ(answers({.axis = Axis::owner, .inputs = Inputs::both}, "--range"), Answers::by_axis);
  EXPECT_EQ(answers({.axis = Axis::owner, .inputs = Inputs::both}, "--owner"), Answers::always);
  EXPECT_EQ(answers({.subject = Subject::counters}, "--kind"), Answers::never);
  EXPECT_EQ(answers({.draws_window = true}, "--from"), Answers::always);
}

TEST(Filter, WhatTheReportDoesNotHaveIsSaidWithWhatItHas) {
  const Report report = sample_report();
  EXPECT_EQ(missing_from(report, {.device = 7}), "has no device 7; devices: 0, 1");
  EXPECT_EQ(missing_from(report, {.device = 1}), "");
  EXPECT_EQ(missing_from(report, {.owner = "libnet"}),
            "has no owner 'libnet'; owners: libnet.so, program");
  EXPECT_EQ(missing_from(report, {.thread = "main"}), "has no thread 'main'; threads: train 4711");
  EXPECT_EQ(missing_from(report, {.range = "none"}), "") << "though all had a range";
  EXPECT_EQ(missing_from(report, {.stream = "none"}), "");
  EXPECT_EQ(missing_from(report, {.kind = "managed"}), "") << "it is a kind, of which nothing is";
  EXPECT_EQ(missing_from(two_threads(), {.thread = "mian"}),
            "has no thread 'mian'; threads: main 10, loader 11");
}

// Python's names for threads do not reach the system: both are called "python3".
TEST(Filter, AThreadIsKnownByTheFunctionThatItBeganIn) {
  TraceNames names = two_threads();
  names.facts.threads[1].name = names.facts.threads[2].name = "python3";
  names.process.executable = "/usr/bin/python3";
  names.facts.sources = {{.path = "/lib/threading.py"}, {.path = "/src/a.py"}};
  names.facts.codes = {{.name = "_bootstrap", .source = 0, .first_line = 9},
                       {.name = "loader", .source = 1, .first_line = 5}};
  names.facts.frames = {{.code = 1, .line = 7}, {.code = 0, .line = 10}};
  names.facts.sites = {{}, {.frames = {0, 1}}};
  names.facts.tags.own()[2].site = 1;

  for (const char* given : {"loader", "loader (a.py:5)"}) {
    EXPECT_EQ(missing_from(names, {.thread = given}), "");
    EXPECT_EQ(trace_filter(names, {.thread = given}, {}).tags,
              (std::vector<bool>{false, false, true}));
  }
  EXPECT_EQ(missing_from(names, {.thread = "lader"}),
            "has no thread 'lader'; threads: python3 10, python3 11 - loader (a.py:5)");
}

TEST(Filter, EachListingHasItsOwnThatItCanAnswer) {
  const auto answer = [](const Filter& filter, Subject subject) {
    const bool draws = subject == Subject::curves;
    return cannot_filter(filter, {.subject = subject, .of_a_trace = draws ? "timeline" : "map"});
  };
  EXPECT_EQ(answer({.from = "1s"}, Subject::refusals), "");
  EXPECT_EQ(answer({.thread = "x", .range = "y"}, Subject::refusals), "");
  EXPECT_NE(answer({.stream = "x"}, Subject::refusals), "");
  EXPECT_EQ(answer({.site = "x", .from = "1s"}, Subject::segments), "");
  EXPECT_NE(answer({.thread = "x"}, Subject::segments).find("map --thread"), std::string::npos);
  EXPECT_EQ(answer({.min_bytes = "1", .from = "1s"}, Subject::curves), "");
  EXPECT_NE(answer({.site = "x"}, Subject::curves).find("timeline --site"), std::string::npos);
  EXPECT_EQ(answer({.device = 0}, Subject::counters), "");
  EXPECT_NE(answer({.kind = "pinned"}, Subject::counters).find("--device"), std::string::npos);
}

TEST(Filter, OfRefusalsLeavesThoseAndAllThatWasLiveThen) {
  FilterUse use{.subject = Subject::refusals};
  const Report report = filtered({.site = "libnet"}, use);

  ASSERT_EQ(report.oom.events.size(), 1U);
  EXPECT_EQ(report.oom.events[0].bytes, std::uint64_t{300} << 20);
  EXPECT_EQ(report.oom.events[0].shares[0].site, 0) << "others' call stacks keep their names";
  EXPECT_EQ(report.sites.size(), 3U);
  EXPECT_EQ(filtered({.range = "forward"}, use).oom.events.size(), 1U);
  EXPECT_EQ(filtered({.from = "5.5s"}, use).oom.events.size(), 1U);
  EXPECT_EQ(filtered({.min_bytes = "100MiB"}, use).oom.events.size(), 1U);
}

// It once led from refusals of 1 GiB to owners of 1 GiB, of which there was none.
TEST(Filter, WhatARequestAskedForIsNotRepeated) {
  const Filter filter{.site = "libnet", .min_bytes = "1GiB"};
  EXPECT_EQ(options_for_next(filter, {.subject = Subject::refusals}),
            (TypedOptions{{"--site", "libnet"}}));
  EXPECT_EQ(options_for_next(filter, {}), typed_options(filter));
}

TEST(Filter, OfSegmentsLeavesThoseWithABlockThatPasses) {
  Report report = sample_report();
  const auto block = [](std::int64_t site, std::int64_t born_ns) {
    return BlockFacts{.size = 4,
                      .requested_size = 4,
                      .state = BlockState::active_allocated,
                      .site = site,
                      .born_ns = born_ns};
  };
  report.devices[0].segments = {
      {.address = 1, .total_size = 8, .blocks = {block(0, 5), block(1, 6)}},
      {.address = 2, .total_size = 4, .blocks = {block(0, 7)}}};
  const auto left = [&](const Filter& filter) {
    Report copy = report;
    filter_report(copy, filter, {.subject = Subject::segments}, sample_names());
    return copy.devices[0].segments;
  };

  ASSERT_EQ(left({.site = "libnet"}).size(), 1U);
  EXPECT_EQ(left({.site = "libnet"})[0].blocks[0].site, 0) << "the others keep their call stacks";
  EXPECT_EQ(left({.site = "make_weights"}).size(), 2U);
  EXPECT_EQ(left({.from = "7ns"}).size(), 1U);
  EXPECT_EQ(left({.min_bytes = "5"}).size(), 0U);
}

TEST(Pattern, ABadOneIsNamed) {
  EXPECT_NE(Pattern("a(").problem().find("'a(' is no regular expression"), std::string::npos);
  EXPECT_EQ(Pattern("a+b|c$").problem(), "");
  EXPECT_TRUE(Pattern("a+b|c$").is_in("xaab"));
}

TEST(SiteNumbers, AreThoseOfTheFileWhenSitesAreJoined) {
  Report report = sample_report();
  report.sources = {{.path = "/src/train.py"}};
  report.codes = {{.name = "train", .source = 0}};
  for (const std::uint32_t frame : {1U, 2U, 3U}) {
    report.frames[frame].code = 0;
    report.frames[frame].line = 7;
  }
  report.frames[5].code = 0;
  report.frames[5].line = 9;
  report.oom = sample_refusals();

  choose_frames(report, {.by_line = true});

  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_EQ(report.sites[0].numbers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(site_number(report, 1), 2);
  EXPECT_EQ(report.oom.events[0].site, 0);
  EXPECT_EQ(report.oom.events[1].site, 1);
}

TraceEvent trace_event(trace::What what, Tag tag, std::uint64_t start_ns, Address address) {
  TraceEvent one;
  one.what = what;
  one.event.effect = what == trace::What::came ? Effect::allocate : Effect::release;
  one.event.served = Served::hit;
  one.event.tag = tag;
  one.event.start_ns = start_ns;
  one.event.address = address;
  one.event.bytes = 100;
  return one;
}

// Of two threads' events, what the filter lets pass.
struct Followed {
  explicit Followed(const Filter& filter) : trace(names, trace_filter(names, filter, {})) {
    using enum trace::What;
    trace.begin({&totals});
    trace.add(trace_event(came, 1, 1000, 0x1000));
    trace.add(trace_event(came, 2, 1100, 0x2000));
    trace.add(trace_event(went, 1, 1200, 0x1000));
    trace.add(trace_event(came, 1, 1300, 0x1000));
    trace.add(trace_event(went, 2, 1400, 0x2000));
    totals.finish();
  }
  [[nodiscard]] const TraceHolding& held() const { return totals.kinds.at({Kind::device, 0}).held; }

  const TraceNames names = two_threads();
  TraceTotals totals;
  TraceFollower trace;
};

TEST(TraceFilter, OfAThreadCountsItsMemoryAlone) {
  const Followed found({.thread = "loader"});

  EXPECT_EQ(found.totals.events, 2U);
  EXPECT_EQ(found.held().allocations, 1U);
  EXPECT_EQ(found.held().peak_bytes, 100U);
  EXPECT_EQ(found.held().live_bytes, 0U);
}

TEST(TraceFilter, OfATimeCountsWhatCameInIt) {
  const Followed found({.from = "100ns", .to = "300ns"});

  EXPECT_EQ(found.held().allocations, 2U);
  EXPECT_EQ(found.held().live_bytes, 200U) << "the free at 400 ns is later";
  EXPECT_EQ(found.held().frees, 0U) << "what was freed at 200 ns came before";
}

TEST(TraceFilter, TimesAreThoseOfTheWholeTrace) {
  const Followed found({.thread = "loader"});

  EXPECT_EQ(found.trace.begin_ns(), 1000U);
  EXPECT_EQ(found.totals.first_ns, 1100U);
  const Report report = report_of_trace(found.trace, found.totals);
  EXPECT_EQ(report.kinds[0].peak_ns, 100U) << "after the trace's first event, which is not its own";
  EXPECT_EQ(report.timeline.duration_ns, 400U);
}

TEST(TraceFilter, OfBytesIsAboutSingleAllocations) {
  const Followed found({.min_bytes = "101"});
  EXPECT_EQ(found.totals.events, 0U);
  EXPECT_TRUE(found.totals.kinds.empty());
}

TEST(TraceFilter, OfNothingLetsAllPass) {
  const Followed found({});
  EXPECT_EQ(found.totals.events, 5U);
  EXPECT_EQ(found.held().peak_bytes, 200U);
}

}  // namespace
}  // namespace vramscope
