// Settings: reading, refusing, suggesting, echoing.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/options.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "interpose/settings/private_variables.h"

namespace vramscope {
namespace {

ParseResult parse(std::vector<Setting> settings) { return parse_options(settings); }

Options parsed(std::string_view variable, std::string_view value) {
  const ParseResult result = parse({{variable, value}});
  EXPECT_TRUE(result.problems.empty()) << result.problems.front();
  return result.options;
}

std::string problem(std::string_view variable, std::string_view value) {
  const ParseResult result = parse({{variable, value}});
  EXPECT_EQ(echo(result.options), echo(Options{}));
  return result.problems.size() == 1 ? result.problems.front() : "not one problem";
}

TEST(Options, AreTheDefaultsWhenNothingIsSet) {
  const Options options = parse({}).options;

  EXPECT_EQ(options.mode, Mode::cache);
  EXPECT_EQ(options.output, "vramscope.%e.%p.json");
  EXPECT_EQ(options.signal.number, SIGUSR1);
  EXPECT_EQ(options.stacks, StackMethod::unwind_tables);
  EXPECT_EQ(options.stack_depth.value, 64u);
  EXPECT_EQ(options.policy, Policy::native_safe);
  EXPECT_TRUE(options.exact_fallback);
  EXPECT_EQ(options.reuse, ReuseTime::at_free);
  EXPECT_TRUE(options.report_at_exit);
}

TEST(Options, EachOneCanBeSet) {
  EXPECT_EQ(parsed("VRAMSCOPE_MODE", "observe").mode, Mode::observe);
  EXPECT_EQ(parsed("VRAMSCOPE_MODE", "dedicated").mode, Mode::dedicated);
  EXPECT_EQ(parsed("VRAMSCOPE_OUTPUT", "/x/%p.json").output, "/x/%p.json");
  EXPECT_EQ(parsed("VRAMSCOPE_LABEL", "4c1d2e8").label, "4c1d2e8");
  EXPECT_EQ(parsed("VRAMSCOPE_SIGNAL", "SIGUSR2").signal.number, SIGUSR2);
  EXPECT_EQ(parsed("VRAMSCOPE_STACKS", "none").stacks, StackMethod::none);
  EXPECT_EQ(parsed("VRAMSCOPE_STACK_DEPTH", "8").stack_depth.value, 8u);
  EXPECT_TRUE(parsed("VRAMSCOPE_CUPTI", "on").cupti);
  EXPECT_EQ(parsed("VRAMSCOPE_SAMPLE_BYTES", "512KiB").sample_bytes.value, 512U << 10);
  EXPECT_EQ(parsed("VRAMSCOPE_ALLOC_CONF", "exact_fallback:False").alloc_conf,
            "exact_fallback:False");
  EXPECT_FALSE(parsed("VRAMSCOPE_EXACT_FALLBACK", "off").exact_fallback);
  EXPECT_EQ(parsed("VRAMSCOPE_POLICY", "pytorch").policy, Policy::pytorch);
  EXPECT_EQ(parsed("VRAMSCOPE_REUSE", "at-reuse").reuse, ReuseTime::at_reuse);
  EXPECT_FALSE(parsed("VRAMSCOPE_REPORT_AT_EXIT", "0").report_at_exit);
  EXPECT_EQ(parsed("VRAMSCOPE_INTERVAL", "0.25").interval.milliseconds, 250U);
  EXPECT_EQ(parsed("VRAMSCOPE_REPORT_ON_GROWTH", "1GiB").report_on_growth.value, 1U << 30);
  EXPECT_EQ(parsed("VRAMSCOPE_REPORT_AT_PEAK", "10%").report_at_peak.value, 10U);
}

// An environment may have two megabytes.
TEST(Options, FewShortLinesSayWhatIsWrongWithMuch) {
  const std::string name = "VRAMSCOPE_" + std::string(1'000'000, 'X');
  std::vector<Setting> settings(10'000, {name, "y"});
  settings.push_back({"VRAMSCOPE_STACK_DEPTH", name});
  settings.push_back({"VRAMSCOPE_MODE", "observe"});

  const ParseResult result = parse(settings);

  EXPECT_EQ(result.options.mode, Mode::observe);
  ASSERT_EQ(result.problems.size(), 21U);
  EXPECT_EQ(result.problems.back(), "9981 more settings ignored");
  for (const std::string& line : result.problems) EXPECT_LT(line.size(), 400U);
  EXPECT_LT(problem("VRAMSCOPE_STACK_DEPTH", name).size(), 400U);
}

TEST(Options, TheLastSettingOfANameWins) {
  const Options options = parse({{"VRAMSCOPE_MODE", "off"}, {"VRAMSCOPE_MODE", "observe"}}).options;

  EXPECT_EQ(options.mode, Mode::observe);
}

TEST(Options, AnEmptyValueMeansNotSet) {
  const ParseResult result = parse({{"VRAMSCOPE_MODE", ""}, {"VRAMSCOPE_OUTPUT", ""}});

  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(echo(result.options), echo(Options{}));
}

TEST(Options, AFolderTakesNamesThatAreRelative) {
  const Options usual = parse({{"VRAMSCOPE_OUTPUT_FOLDER", "jobs/%j/"}}).options;
  EXPECT_EQ(usual.output, "jobs/%j/%R.%p.json");
  EXPECT_EQ(usual.trace, "");

  const Options named = parse({{"VRAMSCOPE_OUTPUT", "r%r.json"},
                               {"VRAMSCOPE_TRACE", "/tmp/%p.trace"},
                               {"VRAMSCOPE_OUTPUT_FOLDER", "/jobs"}})
                            .options;
  EXPECT_EQ(named.output, "/jobs/r%r.json");
  EXPECT_EQ(named.trace, "/tmp/%p.trace");
}

TEST(Options, AnUnknownNameSuggestsTheNearest) {
  EXPECT_EQ(problem("VRAMSCOPE_MODUS", "off"),
            "unknown setting VRAMSCOPE_MODUS ignored; nearest is VRAMSCOPE_MODE");
  EXPECT_EQ(problem("VRAMSCOPE_STACKDEPTH", "9"),
            "unknown setting VRAMSCOPE_STACKDEPTH ignored; nearest is VRAMSCOPE_STACK_DEPTH");
}

TEST(Options, ABadValueIsOneLineThatSaysWhatIsWanted) {
  EXPECT_EQ(problem("VRAMSCOPE_MODE", "exclusive"),
            "VRAMSCOPE_MODE='exclusive' is not cache, dedicated, observe or off; using cache");
  EXPECT_EQ(problem("VRAMSCOPE_STACK_DEPTH", "129"),
            "VRAMSCOPE_STACK_DEPTH='129' is not a number from 1 to 128; using 64");
  EXPECT_EQ(problem("VRAMSCOPE_STACKS", "dwarf"),
            "VRAMSCOPE_STACKS='dwarf' is not unwind, frame-pointers or none; using unwind");
  EXPECT_EQ(
      problem("VRAMSCOPE_SIGNAL", "KILL"),
      "VRAMSCOPE_SIGNAL='KILL' is not a signal such as SIGUSR1 or 10, or none; using SIGUSR1");
  EXPECT_EQ(problem("VRAMSCOPE_REPORT_AT_EXIT", "maybe"),
            "VRAMSCOPE_REPORT_AT_EXIT='maybe' is not on or off; using on");
}

TEST(Options, SecondsAndPercentagesAreReadWholeAndInRange) {
  Seconds seconds{7};
  Percent percent{7};

  for (const char* bad : {"", ".", ".5", "1.", "-1", "1.0005", "86401", "86400.001", "1s", "1e3"}) {
    EXPECT_FALSE(read(bad, seconds)) << bad;
  }
  for (const char* bad : {"", "%", "-1%", "10%%", "1001", "1.5%"}) {
    EXPECT_FALSE(read(bad, percent)) << bad;
  }
  EXPECT_EQ(seconds.milliseconds, 7U);
  EXPECT_EQ(percent.value, 7U);
  for (const char* good : {"0", "60", "0.5", "0.001", "12.34", "86400"}) {
    EXPECT_TRUE(read(good, seconds)) << good;
    EXPECT_EQ(text(seconds), good);
  }
  for (const char* good : {"0", "10%", "1000%"}) {
    EXPECT_TRUE(read(good, percent)) << good;
    EXPECT_EQ(text(percent), good);
  }
}

TEST(Options, NumbersAreReadWholeAndInRange) {
  StackDepth depth{7};

  for (const char* bad : {"0", "129", "-1", "+1", " 1", "1 ", "1x", "", "18446744073709551617"}) {
    EXPECT_FALSE(read(bad, depth)) << bad;
  }
  EXPECT_EQ(depth.value, 7u);
  EXPECT_TRUE(read("1", depth));
  EXPECT_TRUE(read("128", depth));
}

TEST(Options, BytesTakeBinaryUnits) {
  const auto bytes = [](const char* text) {
    Bytes value{~0ULL};
    return read(text, value) ? value.value : ~0ULL;
  };

  EXPECT_EQ(bytes("1024"), 1024u);
  EXPECT_EQ(bytes("1024B"), 1024u);
  EXPECT_EQ(bytes("4KiB"), 4096u);
  EXPECT_EQ(bytes("512MiB"), 512u << 20);
  EXPECT_EQ(bytes("512m"), 512u << 20);
  EXPECT_EQ(bytes("16GiB"), 16ULL << 30);
  EXPECT_EQ(bytes("1T"), 1ULL << 40);
  EXPECT_EQ(bytes("1.5GiB"), 3ULL << 29);
  EXPECT_EQ(bytes("0.25K"), 256u);
  EXPECT_GT(bytes("16777215.999TiB"), 16777215ULL << 40);
  for (const char* bad : {"", "GiB", "1.5", "1.5B", "1.GiB", ".5GiB", "1.2345GiB", "1.5.5GiB", "-1",
                          "16XiB", "16 GiB", "1GB", "16777216TiB"}) {
    EXPECT_EQ(bytes(bad), ~0ULL) << bad;
  }
}

TEST(Options, SignalsHaveNamesAndNumbers) {
  const auto number = [](const char* text) {
    Signal value{-1};
    return read(text, value) ? value.number : -1;
  };

  EXPECT_EQ(number("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(number("usr2"), SIGUSR2);
  EXPECT_EQ(number("10"), SIGUSR1);
  EXPECT_EQ(number("none"), 0);
  EXPECT_EQ(number("40"), 40);
  EXPECT_EQ(text(Signal{40}), "40");
  EXPECT_EQ(text(Signal{0}), "none");
  for (const char* bad : {"SIGKILL", "9", "SIGSEGV", "11", "99", "SIG", ""}) {
    EXPECT_EQ(number(bad), -1) << bad;
  }
}

TEST(Options, EveryEchoedValueIsReadBack) {
  Options changed;
  changed.mode = Mode::off;
  changed.signal = Signal{0};
  changed.stacks = StackMethod::frame_pointers;
  changed.stack_depth = StackDepth{128};
  changed.policy = Policy::pytorch;
  changed.exact_fallback = false;
  changed.reuse = ReuseTime::at_reuse;

  const auto values = echo(changed);
  const std::vector<OptionRow> rows = option_rows();
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    settings.push_back({rows.at(i).variable, values.at(i).second});
  }

  EXPECT_EQ(echo(parse(settings).options), values);
}

TEST(Options, RowsTellHowToSetAnOption) {
  const OptionRow row = option_rows().at(7);

  EXPECT_EQ(row.name, "stack_depth");
  EXPECT_EQ(row.variable, "VRAMSCOPE_STACK_DEPTH");
  EXPECT_EQ(row.flag, "--stack-depth");
  EXPECT_EQ(row.accepted, "a number from 1 to 128");
  EXPECT_EQ(row.default_value, "64");
  EXPECT_TRUE(accepts(row.variable, "3"));
  EXPECT_FALSE(accepts(row.variable, "300"));
}

TEST(Options, AreCollectedFromAnEnvironment) {
  const char* environment[] = {"PATH=/bin", "VRAMSCOPE_MODE=off", "VRAMSCOPE_MDOE=x=y",
                               "VRAMSCOPE_NOEQUALS", nullptr};

  const std::vector<Setting> settings = collect_settings(environment);

  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].name, "VRAMSCOPE_MODE");
  EXPECT_EQ(settings[0].value, "off");
  EXPECT_EQ(settings[1].name, "VRAMSCOPE_MDOE");
  EXPECT_EQ(settings[1].value, "x=y");
}

TEST(Options, VariablesOfTheToolAndTheSimulatorAreNotSettings) {
  const char* environment[] = {"VRAMSCOPE_SIM=capacity=1GiB", "VRAMSCOPE_NOTE_FILE=/tmp/x",
                               "VRAMSCOPE_LIBRARY=/x.so", nullptr};

  EXPECT_TRUE(collect_settings(environment).empty());
}

TEST(PrivateVariables, TheHelpersNameIsReadAsItWasWritten) {
  using Quota = HelperState::Quota;
  for (const bool beside : {false, true}) {
    for (const Quota quota : {Quota::free, Quota::held_back, Quota::used_up}) {
      const HelperState state{.is_beside_handler = beside, .quota = quota};
      EXPECT_EQ(helper_state(helper_name(state).data()), state);
    }
  }
  EXPECT_EQ(std::string(helper_name({}).data()), "vramscope");
  for (const char* other :
       {"", "~", "vramscope-1", "vramscope~~", "vramscope+owl", "a vramscope"}) {
    EXPECT_EQ(helper_state(other), std::nullopt) << other;
  }
}

TEST(PrivateVariables, FreeBytesAreReadAsTheyWereWritten) {
  const std::string text = free_before_text({{"GPU-12", 400}, {"GPU-1", 0}});

  EXPECT_EQ(text, "GPU-12=400,GPU-1=0");
  EXPECT_EQ(free_before(text, "GPU-12"), 400u);
  EXPECT_EQ(free_before(text, "GPU-1"), 0u);
  EXPECT_EQ(free_before(text, "GPU-2"), std::nullopt);
  EXPECT_EQ(free_before("", "GPU-1"), std::nullopt);
}

struct Note : testing::Test {
  Note() : file(mkstemp(path.data())) { add(std::string(kNoteBeginning) + "1\n/a/report\n"); }
  ~Note() override {
    close(file);
    unlink(path.c_str());
  }
  void add(const std::string& text) const {
    EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  std::string path = "/tmp/vramscope-note-XXXXXX";
  int file;
};

TEST_F(Note, TellsWhatWasFree) {
  EXPECT_EQ(free_before_in(path.c_str()), "");
  add("free GPU-1=");
  EXPECT_EQ(free_before_in(path.c_str()), "");

  add("400\n/another/report\n");

  EXPECT_EQ(free_before_in(path.c_str()), "GPU-1=400");
  EXPECT_EQ(free_before_in("/tmp/no-such-note"), "");
}

TEST_F(Note, IsReadOnceNobodyHasItLocked) {
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  std::atomic<bool> is_read{false};
  std::string text;
  std::thread reader([&] {
    text = free_before_in(path.c_str());
    is_read = true;
  });
  for (int i = 0; i < 1000; ++i) sched_yield();
  EXPECT_FALSE(is_read);

  add("free GPU-1=400\n");
  flock(file, LOCK_UN);
  reader.join();

  EXPECT_EQ(text, "GPU-1=400");
}

TEST(PrivateVariables, BytesThatAreNoNumberAreNone) {
  for (const char* text : {"GPU-1", "GPU-1=", "GPU-1=x", "GPU-1=4x", "GPU-1=-4", "GPU-1= 4,"}) {
    EXPECT_EQ(free_before(text, "GPU-1"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace vramscope
