// Recovery: what a recorder had counted and told is read from its live file by another process,
// however the first one ended.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recovery.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "reporter/record/live_names.h"
#include "reporter/record/range_table.h"
#include "reporter/record/recorder.h"
#include "reporter/record/recorder_root.h"
#include "reporter/record/stream_table.h"
#include "test/reporter/made_python.h"
#include "test/reporter/recovery_case.h"

#ifdef __SANITIZE_ADDRESS__
// Children end without their last destructors, and some by the end of their only thread.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace vramscope {
namespace {

// Random calls of one thread.
class Caller {
 public:
  Caller(Recorder& recorder, RangeTable& ranges, unsigned seed)
      : recorder_(recorder), ranges_(ranges), random_(seed) {}

  void rename() { prctl(PR_SET_NAME, ("worker " + std::to_string(random_() % 100)).c_str()); }
  // `code`: an address inside the test's own program, so that modules are named.
  Tag intern(const void* code) {
    Stack stack;
    stack.depth = 1 + random_() % 5;
    for (std::size_t i = 0; i < stack.depth; ++i) {
      const bool is_known = random_() % 4 != 0;
      stack.frames[i] =
          (is_known ? reinterpret_cast<std::uintptr_t>(code) : 0) + 1 + random_() % 40;
    }
    return recorder_.intern(stack, origin());
  }
  Event event(Tag tag) {
    constexpr std::array kEffects{Effect::allocate, Effect::release, Effect::pin, Effect::unpin,
                                  Effect::query};
    return {.function = static_cast<std::uint16_t>(random_() % (kFunctions + 1)),
            .effect = kEffects[random_() % kEffects.size()],
            .served = static_cast<Served>(random_() % 3),
            .failed = random_() % 8 == 0,
            .place = place(),
            .tag = tag,
            .address = random_() % 3,
            .bytes = random_() % 5000,
            .total_ns = random_() % 100'000,
            .driver_ns = random_() % 50'000,
            .sync_ns = random_() % 3 == 0 ? random_() % 1000 : 0};
  }
  void step(const void* code) {
    const Event now = event(intern(code));
    recorder_.record(now);
    switch (random_() % 40) {
      case 0:
        return recorder_.count_refused(now);
      case 1:
        return recorder_.count_unrecorded();
      case 2:
        return recorder_.warn(("warning " + std::to_string(random_() % 50)).c_str());
      case 3:
        return rename();
      case 4:
        return recorder_.reset_timing();
      case 5:
        return recorder_.reset_host_accumulated();
      case 6:
        return ranges_.mark(random_() % 1000000000, "d" + word(2), "mark " + word(9));
      case 7:
      case 8:
        return static_cast<void>(ranges_.push("d" + word(2), "range " + word(9)));
      case 9:
        return static_cast<void>(ranges_.pop("d" + word(2)));
      default:
        return;
    }
  }

 private:
  std::string word(unsigned of) { return std::to_string(random_() % of); }
  Place place() {
    return {.kind = random_() % 3 == 0 ? Kind::pinned : Kind::device,
            .device = static_cast<std::uint16_t>(random_() % 3),
            .context = 1};
  }
  Origin origin() {
    return {.place = place(),
            .function = static_cast<std::uint16_t>(random_() % 3),
            .size_class = static_cast<std::uint8_t>(random_() % 4),
            .thread = recorder_.current_thread(),
            .stream = random_() % 2 == 0 ? recorder_.streams().number_of(random_() % 5) : 0,
            .range = ranges_.current(),
            .sampling = random_() % 5 == 0 ? Sampling::left_out : Sampling::every};
  }

  Recorder& recorder_;
  RangeTable& ranges_;
  std::mt19937 random_;
};

std::string text_of(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 65536> some;
  for (ssize_t got = 0; (got = read(file, some.data(), some.size())) > 0;) {
    text.append(some.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(101);
  close(file);
}

void intern_python(Recorder& recorder, MadePython& made) {
  for (unsigned i = 0; i < 8; ++i) {
    const auto outer =
        made.frame(made.code(made.text("main " + std::to_string(i)), 10), 4, 0, true);
    made.run(made.frame(made.code(made.text("inner"), 80 + i), 0, outer, false));
    static_cast<void>(recorder.intern(made.capture(), Place{.kind = Kind::device}));
  }
}

// Threads come and go, so that sets of counters have several owners.
void record_randomly(Recorder& recorder, RangeTable& ranges, unsigned seed) {
  MadePython made(0x030b02f0);
  for (unsigned round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Caller caller(recorder, ranges, seed * 100 + round * 10 + i);
        for (int step = 0; step < 400; ++step) {
          caller.step(reinterpret_cast<const void*>(&record_randomly));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    intern_python(recorder, made);
  }
}

TEST_F(Recovery, GivesWhatFactsGave) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_EQ(0, ftruncate(file, 0));
    const std::string expected_path = path + ".expected";
    const pid_t child = start([&](LiveMemory& memory) {
      RangeTable ranges;
      static_cast<void>(ranges.push("", "before the recorder"));
      for (std::uint64_t i = 0; i < 100; ++i) ranges.mark(i, "net", "before the recorder");
      Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
      recorder.watch(ranges);
      record_randomly(recorder, ranges, seed);
      RecorderFacts facts = recorder.facts();
      ranges.copy_to(facts);
      write_text(expected_path, describe(facts));
      return 0;
    });
    ASSERT_EQ(0, end_of(child));
    const std::string expected = text_of(expected_path);
    unlink(expected_path.c_str());
    for (const char* const part :
         {"\ncode ", "\ntag ", "\nrange ", "\nwarning ", "\nstream ", "\nrepeated "}) {
      ASSERT_NE(std::string::npos, expected.find(part)) << part;
    }
    ASSERT_EQ(expected, read_back());
  }
}

// A pointer or a number that is wrong anywhere is an error, or another value; nothing else.
TEST_F(Recovery, SurvivesDamage) {
  ASSERT_EQ(0, end_of(start([](LiveMemory& memory) {
              RangeTable ranges;
              Recorder recorder(kFunctions, 2000, &memory);
              recorder.watch(ranges);
              record_randomly(recorder, ranges, 1);
              return 0;
            })));
  Image image(file);
  LiveHeader& header = *image.header();
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const bool in_root = i % 2 == 0;
    const LivePart part = i % 8 == 1 ? LivePart::names : LivePart::objects;
    const std::uint64_t bytes = header.bytes[static_cast<std::size_t>(part)];
    auto* const words = in_root
                            ? reinterpret_cast<std::uint64_t*>(&image.root())
                            : reinterpret_cast<std::uint64_t*>(
                                  header.base + static_cast<std::uint64_t>(part) * kLivePartBytes);
    std::uint64_t& word = words[random() % ((in_root ? sizeof(RecorderRoot) : bytes) / 8)];
    const std::uint64_t before = word;
    const std::uint64_t base = header.base;
    const std::uint64_t wild[] = {
        random(), random() % 100, before + 8, before ^ 1, base + random() % (kLivePartBytes * 3),
        ~before};
    word = wild[random() % std::size(wild)];
    try {
      static_cast<void>(recover_facts(header));
    } catch (const std::runtime_error& problem) {
      ++refused;
      EXPECT_EQ(nullptr, std::strchr(problem.what(), '\n'));
    }
    word = before;
  }
  EXPECT_LT(5, refused);
}

TEST_F(Recovery, RefusesAnotherVersion) {
  ASSERT_EQ(0, end_of(start([](LiveMemory& memory) {
              const Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
              return 0;
            })));
  Image image(file);
  EXPECT_NO_THROW(static_cast<void>(recover_facts(*image.header())));
  ++image.root().layout;
  EXPECT_THROW(static_cast<void>(recover_facts(*image.header())), std::runtime_error);
}

// The names have 64 KiB: tags that came later are unknown, their counts are there.
TEST_F(Recovery, SaysThatNamesAreMissing) {
  ASSERT_EQ(0, end_of(start([](LiveMemory& memory) {
              constexpr auto kNames = static_cast<std::uint64_t>(LivePart::names) * kLivePartBytes;
              const rlimit limit{.rlim_cur = kNames + (64 << 10), .rlim_max = kNames + (64 << 10)};
              setrlimit(RLIMIT_FSIZE, &limit);
              Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
              Stack stack;
              stack.depth = 1;
              for (stack.frames[0] = 1; stack.frames[0] <= 10'000; ++stack.frames[0]) {
                const Tag tag = recorder.intern(stack, Place{.kind = Kind::device});
                Event event;
                event.effect = Effect::allocate;
                event.tag = tag;
                event.total_ns = 1;
                recorder.record(event);
              }
              return 0;
            })));
  Image image(file);
  const RecorderFacts facts = recover_facts(*image.header());
  ASSERT_EQ(10'001U, facts.tags.size());
  EXPECT_EQ(1U, facts.tags.at(10'000).total_ns);
  EXPECT_EQ(kUnknownSite, facts.tags.at(10'000).site);
  EXPECT_NE(kUnknownSite, facts.tags.at(100).site);
  ASSERT_EQ(1U, facts.warnings.size());
  EXPECT_NE(std::string::npos, facts.warnings[0].find("could not grow"));
}

// Whatever makes the child: its thread, which has recorded, ends, and its ranges go on.
// A child of fork lacks the threads whose stacks hold what a leak checker would miss.
bool is_child_of_fork = false;

TEST_F(Recovery, ChildrenTouchNoLivePage) {
  const auto child_of = [](int how) -> pid_t {
    if (how == 0) return fork();
    if (how == 1) return _Fork();
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  };
  for (int how = 0; how < 3; ++how) {
    ASSERT_EQ(0, ftruncate(file, 0));
    const int status = end_of(start([&](LiveMemory& memory) {
      auto* const ranges = new RangeTable;
      auto* const recorder = new Recorder(kFunctions, Recorder::kMaxTags, &memory);
      recorder->watch(*ranges);
      int worst = 0;
      std::thread([&] {
        Caller caller(*recorder, *ranges, 1);
        for (int i = 0; i < 100; ++i) caller.step(reinterpret_cast<const void*>(&write_text));
        const pid_t child = child_of(how);
        if (child == 0) {
          is_child_of_fork = true;
          static_cast<void>(ranges->push("", "new in the child"));
          static_cast<void>(ranges->start("", "and this"));
          ranges->mark(1, "", "late");
          pthread_exit(nullptr);
        }
        worst = end_of(child);
      }).join();
      return WIFSIGNALED(worst) ? WTERMSIG(worst) : WEXITSTATUS(worst);
    }));
    EXPECT_EQ(0, status) << "made in way " << how;
  }
}

}  // namespace
}  // namespace vramscope

// Asked by the leak checker of the address sanitizer, if there is one.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return vramscope::is_child_of_fork ? 1 : 0;
}
