// Random programs must not be able to tell: plays kept sequences and new ones in every mode.
// SPDX-License-Identifier: Apache-2.0
//
// differential_test PLAYER LIBRARY SIMULATOR_FOLDER [OPTION...]
//   --kept DIR           plays the sequences of a folder, too
//   --seeds FIRST COUNT  plays the sequences of these seeds (1 2000)
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
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include "test/differential/configurations.h"
#include "test/differential/generator.h"
#include "test/differential/judge.h"
#include "test/differential/shrinking.h"

using namespace vramscope::differential;

namespace {

constexpr int kMostShrinkingRuns = 600;
constexpr int kTriesOfARace = 6;
constexpr double kMostShrinkingSeconds = 90;  // a program that hangs takes long each time

struct Arguments {
  Installation installation;
  std::string kept, keep, file, faults;
  std::vector<std::string> readmes;
  std::uint64_t first = 1, count = 0;
  std::size_t calls = 200;
  double seconds = 1e9;
  bool until_found = false;
  bool quiet = false;
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

struct Case {
  std::string name;
  Sequence sequence;
  std::uint64_t seed = 0;  // 0: a file
};

// What runs on several threads, and how it ended.
class Session {
 public:
  explicit Session(Arguments arguments) : arguments_(std::move(arguments)) {
    if (!arguments_.file.empty()) files_.push_back(arguments_.file);
    if (!arguments_.kept.empty()) {
      for (const auto& entry : std::filesystem::directory_iterator(arguments_.kept)) {
        if (entry.path().extension() == ".seq") files_.push_back(entry.path());
      }
      std::sort(files_.begin(), files_.end());
    }
  }

  int run() {
    unsigned workers = std::max(1U, std::thread::hardware_concurrency()) * 5 / 2;
    if (arguments_.until_found) workers = 1;  // the first seed is the same each time
    std::string pattern = folder_for_files() / "vramscope-differential-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    check_readme();
    check_settings();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    std::filesystem::remove_all(folder_);
    std::printf("1..%llu\n# %llu calls, %.1f seconds, %llu differ\n",
                static_cast<unsigned long long>(printed_),
                static_cast<unsigned long long>(calls_.load()), elapsed(),
                static_cast<unsigned long long>(failed_.load()));
    if (!found_.empty()) std::printf("%s\n", found_.c_str());
    return failed_ == 0 ? 0 : 1;
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
      chosen = {std::filesystem::path(path).stem(), read_sequence_file(path), 0};
      return true;
    }
    if (number - files_.size() >= arguments_.count) return false;
    const std::uint64_t seed = arguments_.first + number - files_.size();
    chosen = {"seed " + std::to_string(seed), generate(seed, arguments_.calls), seed};
    return true;
  }

  void work(unsigned worker) {
    const std::string folder = folder_ + "/" + std::to_string(worker);
    std::filesystem::create_directory(folder);
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
      notes.push_back("in " + verdict.configuration + ", after " + std::to_string(elapsed()) +
                      " seconds, of " + std::to_string(chosen.sequence.lines.size()) + " calls:");
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
             std::to_string(elapsed()) + " seconds, in " + verdict.configuration + ": " + first;
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
    const double until = elapsed() + kMostShrinkingSeconds;
    const auto fails_once = [&](const Sequence& sequence) {
      const std::vector<std::string> found = judge.compare(sequence, only).differences;
      return std::any_of(found.begin(), found.end(),
                         [&](const std::string& one) { return kind_of(one) == wanted; });
    };
    // What depends on who is first does not fail each time.
    const int tries =
        fails_once(chosen.sequence) && fails_once(chosen.sequence) ? 1 : kTriesOfARace;
    const Fails fails = [&](const Sequence& sequence) {
      for (int i = 0; i < tries && elapsed() < until; ++i) {
        if (fails_once(sequence)) return true;
      }
      return false;
    };
    Sequence small = shrink(chosen.sequence, fails, kMostShrinkingRuns);
    small.comments.push_back("differed in " + verdict.configuration);
    std::string name = chosen.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string path = arguments_.keep + "/" + name + ".seq";
    std::error_code unmade;
    std::filesystem::create_directories(arguments_.keep, unmade);
    std::ofstream file(path);
    const bool is_kept = (file << text_of(small) << std::flush).good();
    return (is_kept ? "kept in " : "cannot be kept in ") + path + ":\n" + text_of(small);
  }

  // Both sides of a comparison would be without a setting that does not arrive.
  void check_settings() {
    std::filesystem::create_directory(folder_ + "/settings");
    Judge judge(arguments_.installation, folder_ + "/settings");
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
      print(text.find(rule.readme) != text.npos, std::string("README says why: ") + rule.name, {});
    }
    std::ifstream faults(arguments_.faults);
    std::size_t count = 0;
    for (std::string line; std::getline(faults, line);) {
      if (!line.starts_with("FAULT(")) continue;
      ++count;
      const std::string name = line.substr(6, line.find(',') - 6);
      const bool is_there = text.find("`" + name + "`") != text.npos;
      if (!is_there) print(false, "README's table has the fault " + name, {});
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
    std::printf("%s %llu %s\n", ok ? "ok" : "not ok", static_cast<unsigned long long>(++printed_),
                name.c_str());
    for (const std::string& note : notes) {
      std::istringstream lines(note);
      for (std::string line; std::getline(lines, line);) std::printf("# %s\n", line.c_str());
    }
    std::fflush(stdout);
  }

  const Arguments arguments_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<std::string> files_;
  std::string folder_;
  std::atomic<std::uint64_t> next_{0};
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
  arguments.installation = {std::filesystem::absolute(argv[1]), std::filesystem::absolute(argv[2]),
                            std::filesystem::absolute(argv[3])};
  for (int i = 4; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string("0"); };
    if (option == "--kept") arguments.kept = value();
    if (option == "--keep") arguments.keep = value();
    if (option == "--file") arguments.file = value();
    if (option == "--readme") arguments.readmes.push_back(value());
    if (option == "--calls") arguments.calls = std::stoull(value());
    if (option == "--seconds") arguments.seconds = std::stod(value());
    if (option == "--faults") arguments.faults = value();
    if (option == "--quiet") arguments.quiet = true;
    if (option == "--thorough") arguments.thorough = true;
    if (option == "--until-found") arguments.until_found = true;
    if (option == "--seeds") {
      arguments.first = std::stoull(value());
      arguments.count = std::stoull(value());
    }
    if (option == "--print") {
      std::printf("%s", text_of(generate(std::stoull(value()), arguments.calls)).c_str());
      return 0;
    }
  }
  signal(SIGPIPE, SIG_IGN);
  return Session(std::move(arguments)).run();
}
