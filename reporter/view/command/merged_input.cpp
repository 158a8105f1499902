// Reads on every core, and merges one at a time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/merged_input.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/told_owners.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

using Tell = std::function<void(std::string_view)>;

enum class Damaged : bool { refused, left_out };

// What the threads share.
class Work {
 public:
  Work(const std::vector<std::string>& paths, Damaged damaged, const TakeReport& take)
      : paths_(paths), damaged_(damaged), take_(take) {}

  // Until nothing is left, or something failed.
  void read() {
    for (std::size_t i = next_++; i < paths_.size() && problem_free_; i = next_++) {
      auto read = read_report(paths_[i]);
      if (const auto* error = std::get_if<FileError>(&read)) {
        fail(error->message);
      } else {
        Report& report = std::get<Report>(read);
        std::error_code unknown;
        report.file = std::filesystem::absolute(paths_[i], unknown).lexically_normal().string();
        add(std::move(report), i);
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void add(Report&& report, std::size_t which) {
    std::string problem;
    try {
      take_(std::move(report), which);
      return;
    } catch (const std::bad_alloc&) {
      problem = "out of memory";
    } catch (const std::system_error& error) {
      problem = error.what();
    }
    fail(problem + " while merging '" + paths_[which] + "'");
  }
  void fail(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(problem);
    if (damaged_ == Damaged::refused) problem_free_ = false;
  }

  const std::vector<std::string>& paths_;
  const Damaged damaged_;
  const TakeReport& take_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> problem_free_{true};
  std::mutex mutex_;
  std::vector<std::string> problems_;
};

// How many could not be read, of those that were tried.
std::size_t read_on_all_cores(const std::vector<std::string>& paths, Damaged damaged,
                              const TakeReport& take) {
  constexpr std::size_t kMostThreads = 8;  // the disk, and adding, are the limit beyond
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t count = std::min({paths.size(), cores, kMostThreads});
  Work work(paths, damaged, take);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back([&work] { work.read(); });
  work.read();
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : work.problems()) say(problem);
  return work.problems().size();
}

std::size_t read_into(Merger& merger, const std::vector<std::string>& paths, const Reading& reading,
                      Damaged damaged = Damaged::refused) {
  std::mutex adding;  // what takes a fraction of the time of reading
  return read_on_all_cores(paths, damaged, [&](Report&& report, std::size_t) {
    take_in_for_merge(report, reading);
    if (report.processes.empty()) note_caches(report);
    const std::lock_guard lock(adding);
    merger.add(std::move(report));
  });
}

std::optional<Report> finished(Merger& merger, const Reading& reading) {
  try {
    Report report = merger.finish();
    tell_owners_anew(report);
    const std::string remark = take_in(report, "", reading);
    if (!remark.empty()) say(remark);
    return report;
  } catch (const std::system_error& error) {
    say(error.what());
    return std::nullopt;
  }
}

}  // namespace

std::size_t read_each(const std::vector<std::string>& paths, const TakeReport& take) {
  std::mutex taking;
  return read_on_all_cores(paths, Damaged::left_out, [&](Report&& report, std::size_t which) {
    const std::lock_guard lock(taking);
    take(std::move(report), which);
  });
}

std::optional<Report> open_merged(std::vector<std::string> paths, const Reading& reading) {
  if (paths.empty()) return std::nullopt;
  if (paths.size() == 1) return open_report(paths.front(), reading);
  std::optional<Merger> merger = merger_of(paths, reading);
  return merger ? finished(*merger, reading) : std::nullopt;
}

MergedReadable open_readable(std::vector<std::string> paths, const Reading& reading) {
  Merger merger;
  const std::size_t failed = read_into(merger, paths, reading, Damaged::left_out);
  if (failed == paths.size()) return {.report = std::nullopt, .failed = failed};
  return {.report = finished(merger, reading), .failed = failed};
}

namespace {

// Whether all may be reports of ours; says what one of them is instead.
bool may_be_reports(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const bool is_other = !is_trace(path) && is_import(path);
    if (!is_trace(path) && !is_other) continue;
    say("'" + path + "' is " +
        (is_other ? "another tool's file: only Vramscope's reports can be added up; for it alone: "
                    "vramscope report "
                  : "a trace: only reports can be added up; for it alone: "
                    "vramscope trace ") +
        shell_word(path));
    return false;
  }
  return true;
}

}  // namespace

MergedPart readable_part(std::vector<std::string> paths, const Part& part, const Reading& reading) {
  if (paths.empty() || !may_be_reports(paths)) return {.merger = std::nullopt};
  drop_repeated_processes(paths, part.first == 0 ? Tell(say) : Tell([](std::string_view) {}));
  std::vector<std::string> its;
  for (std::size_t i = part.first; i < paths.size(); i += part.of) its.push_back(paths[i]);
  MergedPart merged{.merger = std::optional<Merger>(std::in_place)};
  merged.failed = read_into(*merged.merger, its, reading, Damaged::left_out);
  if (merged.failed == its.size()) merged.merger.reset();
  return merged;
}

std::optional<Merger> merger_of(std::vector<std::string> paths, const Reading& reading) {
  if (paths.empty() || !may_be_reports(paths)) return std::nullopt;
  drop_repeated_processes(paths, say);
  std::optional<Merger> merger(std::in_place);
  if (read_into(*merger, paths, reading) != 0) return std::nullopt;
  return merger;
}

std::optional<Report> open_named(std::string& word, const Reading& reading) {
  std::vector<std::string> paths = report_files({word}, say);
  if (paths.size() == 1) {
    word = paths.front();
    return open_report(word, reading);
  }
  return open_merged(std::move(paths), reading);
}

}  // namespace vramscope
