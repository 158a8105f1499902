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
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "test/differential/room_generator.h"
#include "test/differential/room_judge.h"
#include "test/differential/shrinking.h"

using namespace vramscope::differential;

namespace {

constexpr int kMostShrinkingRuns = 400;

struct Arguments {
  Installation installation;
  std::string kept, keep, file;
  Variables options;
  std::uint64_t first = 1, count = 0;
  std::size_t calls = 150;
  double seconds = 1e9;
  bool until_found = false;
  bool quiet = false;
};

struct Case {
  std::string name;
  Sequence sequence;
};

// What runs on several threads, and how it ended.
class Session {
 public:
  explicit Session(Arguments arguments) : arguments_(std::move(arguments)) {
    if (!arguments_.file.empty()) files_.push_back(arguments_.file);
    if (arguments_.kept.empty()) return;
    for (const auto& entry : std::filesystem::directory_iterator(arguments_.kept)) {
      if (entry.path().extension() == ".seq") files_.push_back(entry.path());
    }
    std::sort(files_.begin(), files_.end());
  }

  int run() {
    unsigned workers = std::max(1U, std::thread::hardware_concurrency());
    if (arguments_.until_found) workers = 1;  // the first seed is the same each time
    std::string pattern = std::filesystem::temp_directory_path() / "vramscope-room-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    std::filesystem::remove_all(folder_);
    print_numbers();
    return failed_ == 0 && printed_ != 0 ? 0 : 1;
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  bool next(Case& chosen) {
    if (elapsed() > arguments_.seconds || (arguments_.until_found && failed_ != 0)) return false;
    const std::uint64_t number = next_++;
    if (number < files_.size()) {
      const std::string& path = files_[number];
      chosen = {std::filesystem::path(path).stem(), read_sequence_file(path)};
      return true;
    }
    if (number - files_.size() >= arguments_.count) return false;
    const std::uint64_t seed = arguments_.first + number - files_.size();
    chosen = {"seed " + std::to_string(seed), generate_for_room(seed, arguments_.calls)};
    return true;
  }

  void work(unsigned worker) {
    const std::string folder = folder_ + "/" + std::to_string(worker);
    std::filesystem::create_directory(folder);
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
    const Sequence small = shrink(chosen.sequence, fails, kMostShrinkingRuns);
    std::string name = chosen.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string path = arguments_.keep + "/room-" + name + ".seq";
    std::error_code unmade;
    std::filesystem::create_directories(arguments_.keep, unmade);
    std::ofstream file(path);
    const bool is_kept = (file << text_of(small) << std::flush).good();
    return (is_kept ? "kept in " : "cannot be kept in ") + path + ":\n" + text_of(small);
  }

  void print(bool ok, const std::string& name, const std::vector<std::string>& notes,
             const RoomCounts& counts, std::size_t calls = 0) {
    const std::lock_guard lock(mutex_);
    counts_.add(counts);
    ++printed_;
    if (!ok && failed_++ == 0) found_ = name + ", " + std::to_string(calls_ + calls) + " calls";
    calls_ += calls;
    if (ok && arguments_.quiet) return;
    std::printf("%s %llu %s\n", ok ? "ok" : "not ok", static_cast<unsigned long long>(printed_),
                name.c_str());
    for (const std::string& note : notes) {
      std::istringstream lines(note);
      for (std::string line; std::getline(lines, line);) std::printf("# %s\n", line.c_str());
    }
    std::fflush(stdout);
  }

  void print_numbers() const {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf("1..%llu\n# %.1f seconds, %llu differ\n", number(printed_), elapsed(),
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
      std::printf("found: %s, %f seconds, in cache: room\n", found_.c_str(), elapsed());
    }
  }

  const Arguments arguments_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<std::string> files_;
  std::string folder_;
  std::atomic<std::uint64_t> next_{0};
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
  arguments.installation = {std::filesystem::absolute(argv[1]), std::filesystem::absolute(argv[2]),
                            std::filesystem::absolute(argv[3])};
  for (int i = 4; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string("0"); };
    if (option == "--kept") arguments.kept = value();
    if (option == "--keep") arguments.keep = value();
    if (option == "--file") arguments.file = value();
    if (option == "--calls") arguments.calls = std::stoull(value());
    if (option == "--seconds") arguments.seconds = std::stod(value());
    if (option == "--quiet") arguments.quiet = true;
    if (option == "--until-found") arguments.until_found = true;
    if (option == "--set") {
      const std::string pair = value();
      const std::size_t at = pair.find('=');
      if (at != pair.npos) arguments.options.emplace_back(pair.substr(0, at), pair.substr(at + 1));
    }
    if (option == "--seeds") {
      arguments.first = std::stoull(value());
      arguments.count = std::stoull(value());
    }
    if (option == "--print") {
      std::printf("%s", text_of(generate_for_room(std::stoull(value()), arguments.calls)).c_str());
      return 0;
    }
  }
  signal(SIGPIPE, SIG_IGN);
  return Session(std::move(arguments)).run();
}
