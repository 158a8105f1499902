// Tells the reports of a family by their names, and which is newer by what they begin with.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/newer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "reporter/report/files/file_name.h"
#include "reporter/report/files/input_file.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kExtension = ".json";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

// "r.json" of "r.1.json", "r" of "r.1"; "": it has no number.
std::string without_number(std::string_view wanted) {
  const bool has_extension = wanted.ends_with(kExtension);
  const std::string_view stem =
      wanted.substr(0, wanted.size() - (has_extension ? kExtension.size() : 0));
  const std::size_t point = stem.rfind('.');
  if (point == stem.npos || point == 0 || !is_number(stem.substr(point + 1))) return "";
  return std::string(stem.substr(0, point)) + std::string(has_extension ? kExtension : "");
}

bool are_of_one_family(std::string_view a, std::string_view b) {
  const std::string_view wanted_a = wanted_name(a);
  const std::string_view wanted_b = wanted_name(b);
  const std::string plain_a = without_number(wanted_a);
  const std::string plain_b = without_number(wanted_b);
  return wanted_a == wanted_b || plain_a == wanted_b || wanted_a == plain_b ||
         (!plain_a.empty() && plain_a == plain_b);
}

struct Relative {
  std::string path;
  WrittenBy by;
  bool is_same_process = false;
  [[nodiscard]] auto order() const {
    return std::tie(is_same_process, by.report_time_ns, by.sequence, path);
  }
};

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

// Of another process only what wanted the same name: numbers in names may be those of processes.
std::vector<Relative> newer_relatives(const std::string& path, const WrittenBy& own) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string name = fs::path(path).filename().string();
  std::vector<Relative> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent.empty() ? "." : parent, error)) {
    const std::string other = entry.path().filename().string();
    if (other == name || !are_of_one_family(name, other)) continue;
    Relative one{.path = (parent / other).string(), .by = written_by((parent / other).string())};
    one.is_same_process = one.by.who == own.who;
    const bool is_newer = std::tie(one.by.report_time_ns, one.by.sequence) >
                          std::tie(own.report_time_ns, own.sequence);
    const bool is_related = one.is_same_process || wanted_name(other) == wanted_name(name);
    if (one.by.is_known() && is_newer && is_related) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace

std::optional<NewerReport> newer_than(const std::string& path,
                                      const std::vector<std::string>& given) {
  const WrittenBy own = written_by(path);
  if (!own.is_known()) return std::nullopt;
  const std::vector<Relative> found = newer_relatives(path, own);
  const auto last =
      std::max_element(found.begin(), found.end(),
                       [](const Relative& a, const Relative& b) { return a.order() < b.order(); });
  if (last == found.end()) return std::nullopt;
  const bool is_given = std::any_of(given.begin(), given.end(), [&](const std::string& one) {
    return is_same_file(one, last->path);
  });
  if (is_given) return std::nullopt;
  return NewerReport{.path = last->path,
                     .than = path,
                     .is_same_process = last->is_same_process,
                     .others = found.size() - 1};
}

std::string newer_text(const NewerReport& newer) {
  const std::string more =
      newer.others == 0 ? "" : " (and " + counted(newer.others, "other") + " newer than it)";
  return "'" + newer.than + "' is not " +
         (newer.is_same_process ? "the last report of its process: that is '"
                                : "from the last run with this output name, which wrote '") +
         newer.path + "'" + more;
}

void tell_newer(const std::vector<std::string>& words, const std::vector<std::string>& paths,
                const std::function<void(std::string_view)>& tell) {
  for (const std::string& word : words) {
    if (std::find(paths.begin(), paths.end(), word) == paths.end()) continue;
    if (const auto newer = newer_than(word, paths)) tell(newer_text(*newer));
  }
}

}  // namespace vramscope
