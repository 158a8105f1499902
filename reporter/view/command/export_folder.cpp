// Goes through reports and traces, each process once.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/export_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/export/tables/table_folder.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

// Those in the folder, by name, if it has no report.
std::vector<std::string> traces_instead(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file(error) && is_trace(path)) found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

// The folder, and the folders in it by name: runs often have one each.
std::vector<std::string> with_folders_in(const std::string& folder) {
  std::vector<std::string> folders{folder};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(error) && !name.starts_with('.'))
      folders.push_back(entry.path().string());
  }
  std::sort(folders.begin() + 1, folders.end());
  return folders;
}

// The reports that a word means; of a folder without a report its traces. That there are none is
// said unless another folder has some.
std::vector<std::string> files_of(const std::string& word) {
  std::vector<std::string> all, nothing;
  for (const std::string& folder : is_folder(word) ? with_folders_in(word) : std::vector{word}) {
    std::vector<std::string> said;
    std::vector<std::string> files =
        report_files({folder}, [&](std::string_view line) { said.emplace_back(line); });
    if (files.empty()) {
      nothing.insert(nothing.end(), said.begin(), said.end());
      if (is_folder(folder)) files = traces_instead(folder);
    } else {
      std::ranges::for_each(said, say);
    }
    all.insert(all.end(), files.begin(), files.end());
  }
  if (all.empty() && !nothing.empty()) say(nothing.front());
  return all;
}

std::vector<std::string> input_files(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const std::vector<std::string> files = files_of(word);
    if (files.empty()) return {};
    all.insert(all.end(), files.begin(), files.end());
  }
  drop_repeated_processes(all, say);
  // Then a report's own trace is known before it would be exported by itself.
  std::ranges::stable_partition(all, [](const std::string& file) { return !is_trace(file); });
  return all;
}

// "vramscope.train.4711" of "out/vramscope.train.4711.json".
std::string report_name(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  for (const std::string_view end : {".zst", ".json", ".trace"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.erase(name.size() - end.size());
  }
  return name;
}

// What was written in this call: names, and processes with the file that has each.
struct Written {
  std::set<std::string> names = {};
  std::map<ProcessIdentity, std::string> processes = {};
  std::set<std::string> traces = {};   // whose events are there: resolved paths
  std::vector<std::string> kept = {};  // files whose tables were there, and stay

  // Files of several folders may have one name: the second is "rank0.2".
  std::string unused(const std::string& name) const {
    std::string result = name;
    for (int number = 2; names.contains(result); ++number) {
      result = name + "." + std::to_string(number);
    }
    return result;
  }
};

std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? path : found.string();
}

int add(TableFolder& folder, const ExportArguments& arguments, const Exported& exported,
        const std::string& file, const std::string& trace, Written& written) {
  const Report& report = exported.report();
  const ProcessIdentity process = identity_of(report.process);
  const bool is_one = report.processes.empty() && report.process.start_time_ns != 0;
  const auto found = written.processes.find(process);
  if (is_one && found != written.processes.end()) {
    say("'" + file + "' is of the same process as '" + found->second + "': left out");
    return kFine;
  }
  const std::string name = written.unused(report_name(file));
  if (!arguments.forced && folder.has(report, name)) {
    written.kept.push_back(file);
    return kBadInput;
  }
  const std::string why = folder.add(exported, name);
  if (!why.empty()) return refuse("'" + file + "' is left out: " + why);
  written.names.insert(name);
  if (is_one) written.processes.emplace(process, file);
  if (!trace.empty()) written.traces.insert(resolved(trace));
  return kFine;
}

void say_written(const ExportArguments& arguments, const TableForm& form, std::size_t count,
                 std::uint64_t bytes) {
  const std::string folder = shell_word(arguments.output);
  std::string line = std::string(form.name) + " of " + counted(count, "report") + " in " + folder +
                     " (" + amount_text(bytes) + "); ";
  if (&form == &parquet_form()) {
    line += "to open it: cd " + folder + " && duckdb -init views.sql";
  } else {
    line += "to make Parquet of it: cd " + folder + " && duckdb -f to_parquet.sql";
  }
  say(line);
}

// Of the format, or what stands in for it in this process.
const TableForm& form_of(const ExportFormat& format) {
  if (format.name == csv_form().name) return csv_form();
  if (why_no_parquet_now().empty()) return parquet_form();
  say("CSV is written in place of Parquet: " + why_no_parquet_now());
  return csv_form();
}

}  // namespace

int export_folder(const ExportArguments& arguments, const ExportFormat& format) {
  if (arguments.output.empty() || arguments.output == "-") {
    return refuse(std::string(format.name) + " is a folder of tables: -o FOLDER");
  }
  const std::vector<std::string> files = input_files(arguments.files);
  if (files.empty()) return kBadInput;
  const TableForm& form = form_of(format);
  TableFolder folder(arguments.output, form, readers_of(arguments.shared));
  if (const std::string why = folder.open(); !why.empty()) return refuse(why);
  int status = kFine;
  Written written;
  {
    ProgressLine progress("export", "files");
    const auto since = ProgressLine::Clock::now();
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (written.traces.contains(resolved(files[i]))) continue;
      const auto use = [&](const Exported& exported, const std::string& trace) {
        return add(folder, arguments, exported, files[i], trace, written);
      };
      status = std::max(status, with_exported(arguments, format, files[i], use));
      const std::chrono::nanoseconds passed = ProgressLine::Clock::now() - since;
      progress.show({i + 1, files.size(), static_cast<std::uint64_t>(passed.count())});
    }
  }
  if (!written.kept.empty()) {
    const std::string more =
        written.kept.size() == 1 ? "" : " and " + counted(written.kept.size() - 1, "more file");
    say("the tables of '" + written.kept.front() + "'" + more + " are in '" + arguments.output +
        "' already, and stay; --force replaces them");
  }
  if (written.names.empty()) return status;
  if (const std::string why = folder.end(); !why.empty()) return refuse(why);
  say_written(arguments, form, written.names.size(), folder.bytes());
  return status;
}

}  // namespace vramscope
