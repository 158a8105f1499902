// Reads on every core, and merges one at a time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/verbs/merged_input.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

#include "reporter/report/files/input_file.h"
#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

// Behind `key`, as our reports have it; 0 where it is not.
std::uint64_t number_behind(const std::string& text, std::string_view key) {
  std::uint64_t number = 0;
  const std::size_t at = text.find(key);
  if (at == text.npos) return number;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

struct Beginning {
  std::string host = {};
  std::uint64_t pid = 0;  // 0: nobody knows, or of several processes
  std::uint64_t start_ns = 0;
  std::uint64_t sequence = 0;
};

// Whose report it is, without reading all of it. Who reformatted it has one that stands for itself.
Beginning beginning(const std::string& path) {
  constexpr std::size_t kBeginning = std::size_t{1} << 16;
  constexpr std::string_view kHost = "\"hostname\":\"";
  const std::string text = beginning_of(path, kBeginning);
  Beginning found{.pid = number_behind(text, "\"pid\":"),
                  .start_ns = number_behind(text, "\"start_time_ns\":"),
                  .sequence = number_behind(text, "\"sequence\":")};
  const std::size_t host = text.find(kHost);
  if (host != text.npos) {
    const std::size_t at = host + kHost.size();
    found.host = text.substr(at, text.find('"', at) - at);
  }
  return found;
}

// What the threads share.
class Work {
 public:
  Work(const std::vector<std::string>& paths, Merger& merger) : paths_(paths), merger_(merger) {}

  // Until nothing is left, or something failed.
  void read() {
    for (std::size_t i = next_++; i < paths_.size() && problem_free_; i = next_++) {
      auto read = read_report(paths_[i]);
      if (const auto* error = std::get_if<FileError>(&read)) {
        fail(error->message);
      } else {
        add(std::move(std::get<Report>(read)), paths_[i]);
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void add(Report&& report, const std::string& path) {
    std::string problem;
    try {
      const std::lock_guard lock(adding_);
      merger_.add(std::move(report));
      return;
    } catch (const std::bad_alloc&) {
      problem = "out of memory";
    } catch (const std::system_error& error) {
      problem = error.what();
    }
    fail(problem + " while merging '" + path + "'");
  }
  void fail(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(problem);
    problem_free_ = false;
  }

  const std::vector<std::string>& paths_;
  Merger& merger_;
  std::mutex adding_;  // what takes a fraction of the time of reading
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> problem_free_{true};
  std::mutex mutex_;
  std::vector<std::string> problems_;
};

bool read_into(Merger& merger, const std::vector<std::string>& paths) {
  constexpr std::size_t kMostThreads = 8;  // the disk, and adding, are the limit beyond
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t count = std::min({paths.size(), cores, kMostThreads});
  Work work(paths, merger);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back([&work] { work.read(); });
  work.read();
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : work.problems()) say(problem);
  return work.problems().empty();
}

}  // namespace

void keep_last_reports(std::vector<std::string>& paths) {
  using Who = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  std::map<Who, std::uint64_t> last;
  std::vector<Beginning> beginnings;
  for (const std::string& path : paths) {
    const Beginning& one = beginnings.emplace_back(beginning(path));
    std::uint64_t& sequence = last[{one.host, one.pid, one.start_ns}];
    sequence = std::max(sequence, one.sequence);
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Beginning& one = beginnings[i];
    const bool is_last = last[{one.host, one.pid, one.start_ns}] == one.sequence;
    if (one.pid == 0 || is_last) kept.push_back(std::move(paths[i]));
  }
  if (const std::size_t left = paths.size() - kept.size(); left != 0) {
    say(counted(left, "earlier report") + " of the same processes left aside");
  }
  paths = std::move(kept);
}

std::optional<Report> open_merged(std::vector<std::string> paths) {
  if (paths.empty()) return std::nullopt;
  if (paths.size() == 1) return open_report(paths.front());
  std::optional<Merger> merger = merger_of(std::move(paths));
  if (!merger) return std::nullopt;
  try {
    return merger->finish();
  } catch (const std::system_error& error) {
    say(error.what());
    return std::nullopt;
  }
}

std::optional<Merger> merger_of(std::vector<std::string> paths) {
  if (paths.empty()) return std::nullopt;
  keep_last_reports(paths);
  std::optional<Merger> merger(std::in_place);
  if (!read_into(*merger, paths)) return std::nullopt;
  return merger;
}

std::optional<Report> open_named(std::string& word) {
  std::vector<std::string> paths = report_files({word}, say);
  if (paths.size() == 1) {
    word = paths.front();
    return open_report(word);
  }
  return open_merged(std::move(paths));
}

}  // namespace vramscope
