// Random programs must not be able to tell: plays kept sequences and new ones in every mode.
// SPDX-License-Identifier: Apache-2.0
//
// differential_test PLAYER LIBRARY SIMULATOR_FOLDER [OPTION...]
//   --kept DIR           plays the sequences of a folder, too
//   --seeds FIRST COUNT  plays the sequences of these seeds (1 650)
//   --calls N            a sequence (200)
//   --seconds N          begins no further sequence after that time
//   --keep DIR           writes what fails there, made small
//   --file FILE          plays only this one; --print SEED prints one
//   --until-found        stops at the first difference, prints its seed, does not shrink
//   --thorough           each fourth new sequence with every option, as kept ones
//   --quiet              prints only what differs, and at the end how many there were
//   --readme FILE        looks the rules of comparison up there, and the faults of --faults FILE;
//                        given several times, in all of them together
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "test/differential/configurations.h"
#include "test/differential/generator.h"
#include "test/differential/judge.h"
#include "test/differential/session.h"
#include "test/differential/shrinking.h"

using namespace vramscope::differential;

namespace {

constexpr int kMostShrinkingRuns = 600;
constexpr int kTriesOfARace = 6;
constexpr double kMostShrinkingSeconds = 90;  // a program that hangs takes long each time

struct Arguments : SessionArguments {
  std::string faults;
  std::vector<std::string> readmes;
  bool thorough = false;
};

// Each run writes files: in memory they cost a third less of the whole time than on a disk. Who
// kills a test removes them.
std::filesystem::path folder_for_files() {
  constexpr std::uintmax_t kEnough = std::uintmax_t{1} << 31;  // bytes
  const char* const memory = "/dev/shm";
  std::error_code unknown;
  const std::uintmax_t room = std::filesystem::space(memory, unknown).available;
  const bool has_room = !unknown && room >= kEnough && access(memory, W_OK | X_OK) == 0;
  const bool is_chosen = std::getenv("TMPDIR") != nullptr;
  return has_room && !is_chosen ? memory : std::filesystem::temp_directory_path();
}

// What runs on several threads, and how it ended.
class Session {
 public:
  explicit Session(const Arguments& arguments) : arguments_(arguments) {}

  int run() {
    unsigned workers = std::max(1U, std::thread::hardware_concurrency()) * 5 / 2;
    if (arguments_.until_found) workers = 1;  // the first seed is the same each time
    check_readme();
    work_in_folders(folder_for_files(), "settings", 1,
                    [this](const std::string& folder) { check_settings(folder); });
    work_in_folders(folder_for_files(), "differential", workers,
                    [this](const std::string& folder) { work(folder); });
    std::printf("1..%llu\n# %llu calls, %.1f seconds, %llu differ\n",
                static_cast<unsigned long long>(printed_),
                static_cast<unsigned long long>(calls_.load()), cases_.elapsed(),
                static_cast<unsigned long long>(failed_.load()));
    if (!found_.empty()) std::printf("%s\n", found_.c_str());
    return failed_ == 0 ? 0 : 1;
  }

 private:
  bool next(Case& chosen) {
    return !(arguments_.until_found && failed_ != 0) && cases_.next(chosen);
  }

  void work(const std::string& folder) {
    try {
      Judge judge(arguments_.installation, folder);
      for (Case chosen; next(chosen);) play(judge, chosen);
    } catch (const std::exception& error) {
      print(false, "a player works", {error.what()});
    }
  }

  // Kept sequences run with every option, and of new ones each fourth where it is asked for; the
  // others with one, each second time with at-reuse.
  [[nodiscard]] std::vector<Configuration> configurations_of(const Case& chosen) const {
    std::vector<Configuration> all = modes();
    all.erase(all.begin());
    const std::vector<Configuration> options = rotated_for(chosen.sequence);
    const bool has_all = chosen.seed == 0 || (arguments_.thorough && chosen.seed % 4 == 0);
    if (!has_all) {
      const Configuration& one = options[chosen.seed % options.size()];
      all.push_back(chosen.seed / options.size() % 2 == 0 ? one : at_reuse(one));
    } else {
      all.insert(all.end(), options.begin(), options.end());
    }
    return all;
  }

  void play(Judge& judge, const Case& chosen) {
    const std::vector<Configuration> configurations = configurations_of(chosen);
    Verdict verdict = judge.compare(chosen.sequence, configurations);
    std::vector<std::string> notes;
    if (!verdict.differences.empty()) {
      notes.push_back("in " + verdict.configuration + ", after " +
                      std::to_string(cases_.elapsed()) + " seconds, of " +
                      std::to_string(chosen.sequence.lines.size()) + " calls:");
      notes.insert(notes.end(), verdict.differences.begin(), verdict.differences.end());
      if (!arguments_.keep.empty()) notes.push_back(keep(judge, chosen, verdict));
    }
    if (!verdict.differences.empty() && arguments_.until_found) note_found(chosen, verdict);
    print(verdict.differences.empty(), chosen.name, notes);
    calls_ += chosen.sequence.lines.size();
  }

  void note_found(const Case& chosen, const Verdict& verdict) {
    std::string first = verdict.differences.front();
    first = first.substr(0, first.find('\n'));
    found_ = "found: seed " + std::to_string(chosen.seed) + ", " +
             std::to_string(calls_ + chosen.sequence.lines.size()) + " calls, " +
             std::to_string(cases_.elapsed()) + " seconds, in " + verdict.configuration + ": " +
             first;
  }

  // What a difference is about, without its numbers and names: it stays that one while it shrinks.
  static std::string kind_of(const std::string& difference) {
    std::istringstream words(difference);
    std::string kind, word;
    for (int i = 0; i < 4 && words >> word; ++i) {
      word.erase(std::remove_if(word.begin(), word.end(), [](char c) { return std::isdigit(c); }),
                 word.end());
      if (word != "t" && word != "&" && word != "q") kind += word + " ";
    }
    return kind;
  }

  std::string keep(Judge& judge, const Case& chosen, const Verdict& verdict) {
    std::vector<Configuration> only;
    for (const Configuration& one : configurations_of(chosen)) {
      if (one.name == verdict.configuration) only.push_back(one);
    }
    const std::string wanted = kind_of(verdict.differences.front());
    const double until = cases_.elapsed() + kMostShrinkingSeconds;
    const auto fails_once = [&](const Sequence& sequence) {
      const std::vector<std::string> found = judge.compare(sequence, only).differences;
      return std::any_of(found.begin(), found.end(),
                         [&](const std::string& one) { return kind_of(one) == wanted; });
    };
    // What depends on who is first does not fail each time.
    const int tries =
        fails_once(chosen.sequence) && fails_once(chosen.sequence) ? 1 : kTriesOfARace;
    const Fails fails = [&](const Sequence& sequence) {
      for (int i = 0; i < tries && cases_.elapsed() < until; ++i) {
        if (fails_once(sequence)) return true;
      }
      return false;
    };
    Sequence small = shrink(chosen.sequence, fails, kMostShrinkingRuns);
    small.comments.push_back("differed in " + verdict.configuration);
    return keep_in(arguments_.keep, chosen.name, small);
  }

  // Both sides of a comparison would be without a setting that does not arrive.
  void check_settings(const std::string& folder) {
    Judge judge(arguments_.installation, folder);
    const Run run = judge.run_natively(read_sequence("sim devices=2\nt0 init\nt0 total 1\n"));
    const bool has_two = run.results.size() > 1 && run.results[1].starts_with("0 total=");
    print(has_two, "the simulated device has a sequence's settings", {});
  }

  void check_readme() {
    if (arguments_.readmes.empty()) return;
    std::string text;
    for (const std::string& path : arguments_.readmes) {
      std::ifstream file(path);
      for (std::string word; file >> word;) text += word + " ";
    }
    for (const Rule& rule : kRules) {
      print(text.find(rule.readme) != text.npos, std::string("the page says why: ") + rule.name,
            {});
    }
    std::ifstream faults(arguments_.faults);
    std::size_t count = 0;
    for (std::string line; std::getline(faults, line);) {
      if (!line.starts_with("FAULT(")) continue;
      ++count;
      const std::string name = line.substr(6, line.find(',') - 6);
      const bool is_there = text.find("`" + name + "`") != text.npos;
      if (!is_there) print(false, "the table of results has the fault " + name, {});
    }
    if (!arguments_.faults.empty()) print(count > 0, "there are faults to look up", {});
  }

  void print(bool ok, const std::string& name, const std::vector<std::string>& notes) {
    const std::lock_guard lock(mutex_);
    if (!ok) ++failed_;
    if (ok && arguments_.quiet) {
      ++printed_;
      return;
    }
    print_result(ok, ++printed_, name, notes);
  }

  const Arguments& arguments_;
  Cases cases_{arguments_, generate};
  std::atomic<std::uint64_t> failed_{0};
  std::mutex mutex_;
  std::uint64_t printed_ = 0;
  std::atomic<std::uint64_t> calls_{0};
  std::string found_;
};

int usage() {
  std::fprintf(stderr, "usage: differential_test PLAYER LIBRARY SIMULATOR_FOLDER [OPTION...]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return usage();
  Arguments arguments;
  arguments.calls = 200;
  const auto special = [&](const std::string& option, const OptionValue& value) {
    if (option == "--readme") arguments.readmes.push_back(value());
    if (option == "--faults") arguments.faults = value();
    if (option == "--thorough") arguments.thorough = true;
  };
  if (!read_arguments(argc, argv, arguments, generate, special)) return 0;
  signal(SIGPIPE, SIG_IGN);
  return Session(arguments).run();
}
