// Goes through folders and patterns.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/inputs.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/report/live/recover_file.h"
#include "reporter/view/system/output.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;
using Tell = std::function<void(std::string_view)>;

// Names are of the user's choice, but those that are taken get a mark behind their own. Who wrote
// the file wrote "schema" first.
bool is_report(const std::string& path, const std::string& name) {
  constexpr std::size_t kBeginning = 4096;
  if (name.starts_with('.') || name.find(".json") == name.npos) return false;
  return beginning_of(path, kBeginning).find("\"vramscope-report\"") != std::string::npos;
}

// The report of the dead process; "": nothing is to be had, or nothing is missing.
std::string recovered(const std::string& live_file, const Tell& tell) {
  if (!is_live_file(live_file)) return "";
  const Recovery found = recover_file(live_file, {});
  if (!found.problem.empty()) tell(found.problem);
  if (found.result != Recovery::Result::recovered) return "";
  tell("recovered " + found.report + " of " + found.program + " (" + std::to_string(found.pid) +
       "), which ended without a report");
  return found.report;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Says which folders directly below one have reports, which nobody reads with it.
void tell_folders_below(const std::string& folder, const Tell& tell) {
  constexpr std::size_t kNamed = 3;
  std::size_t files_left = 1000;  // are looked into: a folder may be anything
  std::size_t reports = 0;
  Paths folders;
  for (const std::string& name : names_in(folder)) {
    const fs::path below = folder == "." ? fs::path(name) : fs::path(folder) / name;
    std::error_code error;
    if (name.starts_with('.') || !fs::is_directory(below, error)) continue;
    const std::size_t before = reports;
    for (const std::string& file : names_in(below.string())) {
      if (file.find(".json") == file.npos || files_left == 0) continue;
      --files_left;
      reports += is_report((below / file).string(), file) ? 1 : 0;
    }
    if (reports != before) folders.push_back(below.string() + "/");
  }
  if (folders.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(folders.size(), kNamed); ++i)
    names += (names.empty() ? "" : ", ") + folders[i];
  if (folders.size() > kNamed) names += " and " + count_text(folders.size() - kNamed) + " more";
  tell((files_left == 0 ? "at least " : "") + counted(reports, "report") +
       (reports == 1 ? " is in a folder below: " : " are in folders below: ") + names);
}

void add_folder(const std::string& folder, Paths& paths, const Tell& tell, EmptyFiles empty) {
  const auto path_of = [&](const std::string& name) {
    return folder == "." ? name : (fs::path(folder) / name).string();
  };
  Paths elsewhere;  // reports are written where the program wanted them
  for (const std::string& name : names_in(folder)) {
    if (name.find(kLiveSuffix) == name.npos) continue;
    if (std::string report = recovered(path_of(name), tell); !report.empty()) {
      elsewhere.push_back(std::move(report));
    }
  }
  Paths found;
  for (const std::string& name : names_in(folder)) {
    const std::string path = path_of(name);
    if (is_report(path, name)) found.push_back(path);
    std::error_code error;
    if (name.ends_with(".json") && fs::is_regular_file(path, error) && fs::is_empty(path, error)) {
      if (empty == EmptyFiles::taken) {
        found.push_back(path);
      } else {
        tell("'" + path + "' is empty: left out");
      }
    }
  }
  std::erase_if(elsewhere, [&](const std::string& report) {
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& path) { return same_file(path, report); });
  });
  found.insert(found.end(), elsewhere.begin(), elsewhere.end());
  if (found.empty()) tell("no report is in '" + folder + "'");
  tell_folders_below(folder, tell);
  paths.insert(paths.end(), found.begin(), found.end());
}

// Whether anything matched.
bool add_pattern(const std::string& pattern, Paths& paths) {
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_MARK, nullptr, &found);
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    const std::string_view path = found.gl_pathv[i];
    if (!path.ends_with('/')) paths.emplace_back(path);
  }
  globfree(&found);
  return result == 0;
}

}  // namespace

std::vector<std::string> report_files(const std::vector<std::string>& words, const Tell& tell,
                                      EmptyFiles empty) {
  Paths paths;
  for (const std::string& word : words) {
    if (word.empty()) {
      tell("FILE is empty: expected the name of a file or folder");
      return {};
    }
    const std::size_t before = paths.size();
    struct stat found {};
    const bool is_there = stat(word.c_str(), &found) == 0;
    if (is_there && S_ISDIR(found.st_mode)) {
      add_folder(word, paths, tell, empty);
      if (paths.size() == before) return {};
    } else if (is_there || word.find_first_of("*?[") == word.npos) {
      paths.push_back(word);  // if it is not there, its reader says why
    } else if (!add_pattern(word, paths)) {
      tell("no file matches '" + word + "'");
      return {};
    }
  }
  return paths;
}

std::string newest_report_here() {
  std::string newest;
  std::pair<std::int64_t, std::int64_t> changed;
  for (const std::string& name : names_in(".")) {
    struct stat found {};
    if (stat(name.c_str(), &found) != 0 || !is_report(name, name)) continue;
    const std::pair<std::int64_t, std::int64_t> then(found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    if (!newest.empty() && then < changed) continue;
    newest = name;
    changed = then;
  }
  return newest;
}

bool is_of_trigger(const std::string& path, Trigger trigger) {
  constexpr std::size_t kBeginning = 4096;
  const std::string field = "\"trigger\":\"" + std::string(word_of(trigger)) + "\"";
  return beginning_of(path, kBeginning).find(field) != std::string::npos;
}

namespace {

// Whether what the word stands for is read, and the file is among it.
bool is_read(const std::string& word, const std::string& file) {
  if (same_file(word, file)) return true;
  if (is_folder(word)) {
    const fs::path parent = fs::path(file).parent_path();
    return same_file(word, parent.empty() ? "." : parent.string()) &&
           is_report(file, fs::path(file).filename());
  }
  Paths paths;
  const bool is_pattern = word.find_first_of("*?[") != word.npos && add_pattern(word, paths);
  return is_pattern && std::any_of(paths.begin(), paths.end(),
                                   [&](const std::string& path) { return same_file(path, file); });
}

}  // namespace

std::string lost_by(const std::string& output, const std::vector<std::string>& words,
                    Overwriting overwriting) {
  if (descriptor_named_by(output) >= 0) return "";  // what a shell opened
  struct stat found {};
  const bool is_there = stat(output.c_str(), &found) == 0 && S_ISREG(found.st_mode);
  if (!is_there || found.st_size == 0) return "";
  const std::string name = "'" + output + "' is ";
  if (std::any_of(words.begin(), words.end(),
                  [&](const std::string& word) { return is_read(word, output); })) {
    return name + "what is to be read, which would be lost; choose another name";
  }
  const bool is_page = beginning_of(output, kPageBeginning.size()) == kPageBeginning;
  if (is_page || overwriting == Overwriting::forced) return "";
  const std::string what = is_report(output, fs::path(output).filename()) ? "a report"
                           : is_trace(output)                             ? "a trace"
                                                                          : "";
  return name + (what.empty() ? "there already" : what + ", which would be lost") +
         "; --force replaces it";
}

std::vector<std::string> reports_beside(const std::string& path, Trigger trigger) {
  const fs::path parent = fs::path(path).parent_path();
  Paths found;
  for (const std::string& name : names_in(parent.empty() ? "." : parent.string())) {
    const std::string other = (parent / name).string();
    const bool is_for_it = is_report(other, name) && is_of_trigger(other, trigger);
    if (is_for_it && !same_file(other, path)) found.push_back(other);
  }
  return found;
}

bool is_folder(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool is_trace(const std::string& path) {
  const std::string head = beginning_of(path, 16);
  return head.starts_with("VRAMSCOPE TRACE") || head.starts_with("\x28\xb5\x2f\xfd");
}

}  // namespace vramscope
