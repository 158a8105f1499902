// Recovery: what a recorder had counted and told is read from its live file by another process,
// however the first one ended.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recovery.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocator/ground/fault.h"
#include "reporter/record/live_names.h"
#include "reporter/record/range_table.h"
#include "reporter/record/recorder.h"
#include "reporter/record/recorder_root.h"
#include "reporter/record/stream_table.h"
#include "test/reporter/made_python.h"

#ifdef __SANITIZE_ADDRESS__
// Children end without their last destructors, and some by the end of their only thread.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace vramscope {
namespace {

constexpr std::size_t kFunctions = 40;
constexpr std::size_t kThreads = 4;

void describe(std::ostream& out, const Duration& time) {
  out << time.count << ' ' << time.total_ns << ' ' << time.min_ns << ' ' << time.max_ns << " [";
  for (const std::uint64_t count : time.histogram) out << count << ' ';
  out << "]\n";
}
void describe(std::ostream& out, const Timing& timing) {
  Timing::visit(timing, [&](const char* name, const Duration& time) {
    out << "  " << name << ' ';
    describe(out, time);
  });
}

// Every field, a line each.
std::string describe(const RecorderFacts& facts) {
  std::ostringstream out;
  for (const FunctionTotals& function : facts.functions) {
    out << "function " << function.calls << ' ' << function.failures << ' ';
    describe(out, function.time);
  }
  for (const auto& [device, timing] : facts.devices) {
    out << "device " << device << '\n';
    describe(out, timing);
  }
  out << "host\n";
  describe(out, facts.host);
  for (const auto& row : facts.modules) {
    out << "module " << row.path << ' ' << row.build_id << ' ' << row.base << '\n';
  }
  for (const auto& row : facts.sources) {
    out << "source " << row.path << ' ' << row.bytes << ' ' << row.modified_ns << '\n';
  }
  for (const auto& row : facts.codes) {
    out << "code " << row.name << ' ' << row.source << ' ' << row.first_line << '\n';
  }
  for (const auto& row : facts.frames) {
    out << "frame " << row.module << ' ' << row.offset << ' ' << row.code << ' ' << row.line
        << '\n';
  }
  for (const auto& row : facts.sites) {
    out << "site";
    for (const std::uint32_t frame : row.frames) out << ' ' << frame;
    out << '\n';
  }
  for (const auto& row : facts.tags) {
    out << "tag " << row.site << ' ' << static_cast<int>(row.place.kind) << ' ' << row.place.device
        << " values";
    for (const std::uint32_t value : row.values) out << ' ' << value;
    out << " groups";
    for (const Group group : row.groups) out << ' ' << group;
    out << ' ' << row.total_ns << ' ' << row.temporary << ' ' << static_cast<int>(row.sampling)
        << ' ' << row.refused_count << ' ' << row.refused_bytes << '\n';
  }
  for (const auto& row : facts.owners) out << "owner " << row << '\n';
  for (const auto& row : facts.threads) out << "thread " << row.id << ' ' << row.name << '\n';
  for (const auto& row : facts.streams) out << "stream " << row.handle << '\n';
  for (const auto& row : facts.ranges) {
    out << "range " << row.parent << ' ' << row.domain << ' ' << row.name << ' ' << row.entered
        << '\n';
  }
  out << "marks " << facts.range_marks << " unrecorded " << facts.unrecorded_calls << " dropped "
      << facts.dropped_stacks << '\n';
  for (const auto& row : facts.marks) out << "mark " << row.clock_ns << ' ' << row.name << '\n';
  for (const auto& row : facts.warnings) out << "warning " << row << '\n';
  return out.str();
}

// What a process left, mapped as it had it.
class Image {
 public:
  explicit Image(int file) {
    LiveHeader head;
    if (pread(file, static_cast<void*>(&head), sizeof head, 0) != sizeof head || head.base == 0) {
      return;
    }
    for (std::size_t i = 0; i < kLiveParts; ++i) {
      bytes_[i] = head.bytes[i].load();
      if (bytes_[i] == 0) continue;
      void* const at = reinterpret_cast<void*>(head.base + i * kLivePartBytes);
      void* const got =
          mmap(at, bytes_[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file,
               static_cast<off_t>(i * kLivePartBytes));
      if (got != at) throw std::runtime_error("the addresses of the image are taken");
    }
    header_ = reinterpret_cast<LiveHeader*>(head.base);
  }
  ~Image() {
    if (header_ == nullptr) return;
    const std::uint64_t base = header_->base;
    for (std::size_t i = 0; i < kLiveParts; ++i) {
      if (bytes_[i] != 0) munmap(reinterpret_cast<void*>(base + i * kLivePartBytes), bytes_[i]);
    }
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  LiveHeader* header() { return header_; }
  RecorderRoot& root() {
    return *static_cast<RecorderRoot*>(const_cast<void*>(header_->recorder.load()));
  }

 private:
  LiveHeader* header_ = nullptr;
  std::array<std::uint64_t, kLiveParts> bytes_{};
};

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

struct Recovery : testing::Test {
  Recovery() : file(mkstemp(path.data())) {}
  ~Recovery() override {
    close(file);
    unlink(path.c_str());
  }

  // What `body` does in a process of its own, which ends by _exit with what it gives, or by a
  // signal.
  pid_t start(const std::function<int(LiveMemory&)>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    LiveMemory memory;
    if (memory.begin(file, path.c_str()) != 0) _exit(100);
    _exit(body(memory));
  }
  static int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  std::string read_back() {
    Image image(file);
    if (image.header() == nullptr) return "there is no header";
    return describe(recover_facts(*image.header()));
  }

  std::string path = "/dev/shm/vramscope-recovery-test-XXXXXX";
  int file;
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
      Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
      recorder.watch(ranges);
      record_randomly(recorder, ranges, seed);
      RecorderFacts facts = recorder.facts();
      facts.ranges = ranges.facts();
      facts.range_marks = ranges.marks();
      facts.marks = ranges.kept_marks();
      write_text(expected_path, describe(facts));
      return 0;
    });
    ASSERT_EQ(0, end_of(child));
    const std::string expected = text_of(expected_path);
    unlink(expected_path.c_str());
    for (const char* const part : {"\ncode ", "\ntag ", "\nrange ", "\nwarning ", "\nstream "}) {
      ASSERT_NE(std::string::npos, expected.find(part)) << part;
    }
    ASSERT_EQ(expected, read_back());
  }
}

// What the threads of a recording process say of themselves; it outlives the process.
struct Log {
  static constexpr std::size_t kTags = 1 << 15;
  static constexpr std::size_t kTimed = 256;  // tags whose calls are counted
  using Counts = std::array<std::array<std::atomic<std::uint64_t>, kTimed>, kThreads>;

  std::atomic<bool> is_recording{false};
  Counts begun, ended;  // by tag, all of function `tag % kFunctions`
  // Where the one frame of a tag lies, once a call with it was recorded.
  std::array<std::atomic<std::uintptr_t>, kTags> frames;

  static std::uint64_t sum(const Counts& counts, std::size_t tag) {
    std::uint64_t sum = 0;
    for (const auto& thread : counts) sum += thread[tag].load();
    return sum;
  }
};

// Known tags in turn, each call of one nanosecond, and now and then a new one.
void record_forever(Recorder& recorder, Log& log, std::size_t thread) {
  std::mt19937 random(static_cast<unsigned>(thread));
  std::uintptr_t next = (thread + 1) << 32;
  Stack stack;
  stack.depth = 1;
  for (;;) {
    const bool is_new = random() % 16 == 0;
    stack.frames[0] = is_new ? ++next : 1 + random() % 200;
    const Tag tag = recorder.intern(stack, Place{.kind = Kind::device});
    const bool is_timed = tag < Log::kTimed;
    if (is_timed) log.begun[thread][tag].fetch_add(1);
    recorder.record({.function = static_cast<std::uint16_t>(tag % kFunctions),
                     .effect = Effect::allocate,
                     .served = Served::hit,
                     .place = {.kind = Kind::device},
                     .tag = tag,
                     .total_ns = 1});
    if (is_timed) log.ended[thread][tag].fetch_add(1);
    if (tag < Log::kTags) log.frames[tag].store(stack.frames[0]);
  }
}

struct KilledRecorder : Recovery {
  KilledRecorder()
      : log(*static_cast<Log*>(mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~KilledRecorder() override { munmap(&log, sizeof(Log)); }

  // A process that recorded for so long when it was killed.
  void kill_after(unsigned us) {
    ASSERT_EQ(0, ftruncate(file, 0));
    madvise(&log, sizeof(Log), MADV_REMOVE);
    const pid_t child = start([this](LiveMemory& memory) {
      Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
      Stack stack;
      stack.depth = 1;
      for (stack.frames[0] = 1; stack.frames[0] <= 200; ++stack.frames[0]) {
        static_cast<void>(recorder.intern(stack, Place{.kind = Kind::device}));
      }
      log.is_recording.store(true);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] { record_forever(recorder, log, i); });
      }
      threads[0].join();
      return 0;
    });
    while (!log.is_recording.load()) usleep(100);
    usleep(us);
    kill(child, SIGKILL);
    const int status = end_of(child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }

  std::uint64_t calls_of_all() const {
    std::uint64_t calls = 0;
    for (std::size_t tag = 1; tag < Log::kTimed; ++tag) calls += Log::sum(log.ended, tag);
    return calls;
  }

  void check() {
    Image image(file);
    ASSERT_NE(nullptr, image.header());
    RecorderFacts facts;
    ASSERT_NO_THROW(facts = recover_facts(*image.header()));
    ASSERT_NO_FATAL_FAILURE(check_names(facts));
    ASSERT_NO_FATAL_FAILURE(check_times(facts));
    ASSERT_NO_FATAL_FAILURE(check_calls(facts));
  }
  void check_times(const RecorderFacts& facts) const {
    for (std::size_t tag = 1; tag < Log::kTimed && tag < facts.tags.size(); ++tag) {
      ASSERT_LE(Log::sum(log.ended, tag), facts.tags[tag].total_ns) << "tag " << tag;
      ASSERT_GE(Log::sum(log.begun, tag), facts.tags[tag].total_ns) << "tag " << tag;
    }
  }
  void check_names(const RecorderFacts& facts) const {
    for (std::size_t tag = 1; tag < Log::kTags; ++tag) {
      const std::uintptr_t frame = log.frames[tag].load();
      if (frame == 0) continue;
      ASSERT_LT(tag, facts.tags.size());
      const SiteFact& site = facts.sites.at(facts.tags[tag].site);
      ASSERT_EQ(1U, site.frames.size()) << "tag " << tag;
      ASSERT_EQ(frame, facts.frames.at(site.frames[0]).offset) << "tag " << tag;
    }
  }
  // Calls are those of all tags, of which only the first few are counted here.
  void check_calls(const RecorderFacts& facts) const {
    std::uint64_t calls = 0, times = 0;
    for (const FunctionTotals& function : facts.functions) calls += function.calls;
    for (const TagFact& tag : facts.tags) times += tag.total_ns;
    ASSERT_LE(calls_of_all(), calls);
    ASSERT_LE(times, calls);
    ASSERT_GE(times + kThreads, calls);
    if (calls <= kThreads) return;  // killed at once: the first calls may be in flight
    ASSERT_EQ(1U, facts.devices.size());
    const Duration& hits = facts.devices[0].second.alloc_hit;
    ASSERT_LE(hits.count, calls);
    ASSERT_GE(hits.count + kThreads, calls);
    ASSERT_GE(hits.total_ns, hits.count);
    ASSERT_LE(hits.total_ns, hits.count + kThreads);
    ASSERT_EQ(hits.count == 0 ? 0U : 1U, hits.min_ns);
  }

  Log& log;
};

void choose_fault() {
#ifdef VRAMSCOPE_FAULTS
  const char* const name = std::getenv("VRAMSCOPE_FAULT");
  if (name != nullptr && std::string(name) == "names_committed_early") {
    chosen_fault = Fault::names_committed_early;
  }
#endif
}

TEST_F(KilledRecorder, HasAllButTheCallsInFlight) {
  choose_fault();
  const auto begin = std::chrono::steady_clock::now();
  unsigned long long calls = 0;
  const char* const kills = std::getenv("VRAMSCOPE_KILLS");
  std::mt19937 random(20);
  for (int i = 0, n = kills == nullptr ? 100 : std::atoi(kills); i < n; ++i) {
    const unsigned us = random() % 5000;
    SCOPED_TRACE("kill " + std::to_string(i) + " after " + std::to_string(us) + " us");
    ASSERT_NO_FATAL_FAILURE(kill_after(us));
    calls += calls_of_all();
    check();
    if (!HasFailure()) continue;
    // As test/differential/faults.py reads it.
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("found: seed 20, %llu calls, %.1f seconds, in kill %d:\n", calls, spent.count(), i);
    return;
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
