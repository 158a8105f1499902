// Never out of memory before the program would be: sequences on small devices.
// SPDX-License-Identifier: Apache-2.0
//
// room_test PLAYER LIBRARY SIMULATOR_FOLDER [OPTION...]
//   --kept DIR           plays the sequences of a folder, too
//   --seeds FIRST COUNT  plays the sequences of these seeds (1 1000)
//   --calls N            a sequence (150)
//   --seconds N          begins no further sequence after that time
//   --keep DIR           writes what fails there, made small
//   --file FILE          plays only this one; --print SEED prints one
//   --until-found        stops at the first difference, prints its seed, does not shrink
//   --quiet              prints only what differs, and the numbers
//   --set NAME=VALUE     a variable of ours
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "test/differential/room_generator.h"
#include "test/differential/room_judge.h"
#include "test/differential/session.h"
#include "test/differential/shrinking.h"

using namespace vramscope::differential;

namespace {

constexpr int kMostShrinkingRuns = 400;

struct Arguments : SessionArguments {
  Variables options;
};

// What runs on several threads, and how it ended.
class Session {
 public:
  explicit Session(const Arguments& arguments) : arguments_(arguments) {}

  int run() {
    unsigned workers = std::max(1U, std::thread::hardware_concurrency());
    if (arguments_.until_found) workers = 1;  // the first seed is the same each time
    work_in_folders(std::filesystem::temp_directory_path(), "room", workers,
                    [this](const std::string& folder) { work(folder); });
    print_numbers();
    return failed_ == 0 && printed_ != 0 ? 0 : 1;
  }

 private:
  bool next(Case& chosen) {
    return !(arguments_.until_found && failed_ != 0) && cases_.next(chosen);
  }

  void work(const std::string& folder) {
    try {
      RoomJudge judge(arguments_.installation, folder, arguments_.options);
      for (Case chosen; next(chosen);) play(judge, chosen);
    } catch (const std::exception& error) {
      print(false, "a player works", {error.what()}, {});
    }
  }

  void play(RoomJudge& judge, const Case& chosen) {
    const RoomVerdict verdict = judge.judge(chosen.sequence);
    std::vector<std::string> notes = verdict.differences;
    constexpr std::size_t kMost = 4;  // what comes later often follows
    if (notes.size() > kMost) notes.resize(kMost);
    if (!notes.empty() && !arguments_.keep.empty()) notes.push_back(keep(judge, chosen));
    print(verdict.differences.empty(), chosen.name, notes, verdict.counts,
          chosen.sequence.lines.size());
  }

  std::string keep(RoomJudge& judge, const Case& chosen) {
    const Fails fails = [&](const Sequence& sequence) {
      return !judge.judge(sequence).differences.empty();
    };
    return keep_in(arguments_.keep, "room-" + chosen.name,
                   shrink(chosen.sequence, fails, kMostShrinkingRuns));
  }

  void print(bool ok, const std::string& name, const std::vector<std::string>& notes,
             const RoomCounts& counts, std::size_t calls = 0) {
    const std::lock_guard lock(mutex_);
    counts_.add(counts);
    ++printed_;
    if (!ok && failed_++ == 0) found_ = name + ", " + std::to_string(calls_ + calls) + " calls";
    calls_ += calls;
    if (ok && arguments_.quiet) return;
    print_result(ok, printed_, name, notes);
  }

  void print_numbers() const {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf("1..%llu\n# %.1f seconds, %llu differ\n", number(printed_), cases_.elapsed(),
                number(failed_));
    std::printf(
        "# requests served %llu, refused as natively %llu; free memory compared %llu times\n",
        number(counts_.served), number(counts_.refused), number(counts_.asked));
    std::printf("# not promised, less free memory told, a graph keeps frees pending: %llu\n",
                number(counts_.told_less));
    for (std::size_t i = 1; i < kExcuses; ++i) {
      std::printf("# not promised, refused with us alone, %s: %llu\n",
                  name_of(static_cast<Excuse>(i)), number(counts_.excused[i]));
    }
    if (arguments_.until_found && failed_ != 0) {
      std::printf("found: %s, %f seconds, in cache: room\n", found_.c_str(), cases_.elapsed());
    }
  }

  const Arguments& arguments_;
  Cases cases_{arguments_, generate_for_room};
  std::atomic<std::uint64_t> failed_{0};
  std::mutex mutex_;  // guards what follows
  std::uint64_t printed_ = 0;
  RoomCounts counts_;
  std::uint64_t calls_ = 0;
  std::string found_;
};

int usage() {
  std::fprintf(stderr, "usage: room_test PLAYER LIBRARY SIMULATOR_FOLDER [OPTION...]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return usage();
  Arguments arguments;
  arguments.calls = 150;
  const auto special = [&](const std::string& option, const OptionValue& value) {
    if (option != "--set") return;
    const std::string pair = value();
    const std::size_t at = pair.find('=');
    if (at != pair.npos) arguments.options.emplace_back(pair.substr(0, at), pair.substr(at + 1));
  };
  if (!read_arguments(argc, argv, arguments, generate_for_room, special)) return 0;
  signal(SIGPIPE, SIG_IGN);
  return Session(arguments).run();
}
