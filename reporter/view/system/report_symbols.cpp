// Looks names up and writes them behind a report's other fields.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/report_symbols.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <tuple>
#include <variant>
#include <vector>

#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/report.h"
#include "reporter/report/symbol_table.h"

namespace vramscope {
namespace {

// Native ones that are to be looked up, those of the largest sites first.
std::vector<std::uint32_t> frames_to_name(const Report& report, const SymbolTable& table) {
  std::vector<std::size_t> sites(report.sites.size());
  std::iota(sites.begin(), sites.end(), std::size_t{0});
  const auto rank = [&](std::size_t site) {
    const SiteTotals& totals = report.sites[site].totals;
    return std::tuple(totals.peak_bytes, totals.live_bytes, totals.total_bytes);
  };
  std::stable_sort(sites.begin(), sites.end(),
                   [&](std::size_t a, std::size_t b) { return rank(b) < rank(a); });
  std::vector<bool> is_known(report.frames.size());
  std::vector<std::uint32_t> frames;
  const auto add = [&](const std::vector<std::uint32_t>& some) {
    for (const std::uint32_t frame : some) {
      const FrameFact& fact = report.frames[frame];
      const bool is_native = fact.code == kNoCode && fact.module < report.modules.size();
      if (is_native && !is_known[frame] && !table.knows(frame)) frames.push_back(frame);
      is_known[frame] = true;
    }
  };
  for (const std::size_t site : sites) add(report.sites[site].frames);
  for (const ThreadStart& thread : report.threads) add(thread.frames);
  return frames;
}

// A reader refuses longer ones.
bool is_writable(const ResolvedFrame& found) {
  return found.functions.size() <= kMostFunctionsOfFrame &&
         std::all_of(found.functions.begin(), found.functions.end(), [](const SourceFrame& one) {
           return one.function.size() <= kLongestText && one.file.size() <= kLongestText;
         });
}

// Adds what is found; what another machine may find yet is left to it.
void look_up(const Report& report, Symbols& symbols, const SymbolsDeadline& deadline,
             std::size_t most_bytes, SymbolTable& table, SymbolsPut& put) {
  for (const std::uint32_t frame : frames_to_name(report, table)) {
    if (deadline && std::chrono::steady_clock::now() >= *deadline) {
      ++put.too_late;
      continue;
    }
    if (table.bytes() >= most_bytes) {
      ++put.too_much;
      continue;
    }
    const ResolvedFrame& found = symbols.resolve(report, report.frames[frame]);
    const bool is_final =
        found.state == SymbolState::resolved || found.state == SymbolState::no_symbols;
    if (!is_final || !is_writable(found)) continue;
    table.add(frame, found.functions);
    put.named += found.functions.empty() ? 0 : 1;
  }
}

// The document up to where a last member is added; "": it is not laid out as we write it.
std::string_view beginning_of_document(std::string_view text, bool has_symbols) {
  constexpr std::string_view kEnd = "\n}\n";
  constexpr std::string_view kMember = ",\n\"symbols\":";
  if (!text.ends_with(kEnd)) return "";
  text.remove_suffix(kEnd.size());
  if (!has_symbols) return text;
  const std::size_t at = text.rfind('\n');  // no text of JSON holds one
  if (at == text.npos || at == 0 || !text.substr(at - 1).starts_with(kMember)) return "";
  return text.substr(0, at - 1);
}

std::string why_not_written(const std::string& path, std::string_view beginning,
                            const SymbolFacts& facts, const struct stat& judged) {
  OutputFile file(path);
  file.open();
  if (file.error() == 0) file.write(beginning);
  if (file.error() == 0) write_symbols(facts, file);
  const bool is_written = file.error() == 0 && file.replace(judged);
  return is_written
             ? ""
             : "cannot write '" + path + "': " + std::generic_category().message(file.error());
}

}  // namespace

SymbolsPut put_symbols(const std::string& path, Symbols& symbols, const SymbolsDeadline& deadline) {
  SymbolsPut put;
  struct stat judged {};
  if (lstat(path.c_str(), &judged) != 0) {
    put.problem = path + ": " + std::strerror(errno);
    return put;
  }
  if (!S_ISREG(judged.st_mode)) {
    put.problem = path + ": is no regular file";
    return put;
  }
  const InputFile file = read_file(path, wanted_report());
  const auto read = read_report(path);
  if (const auto* error = std::get_if<FileError>(&read)) {
    put.problem = error->message;
    return put;
  }
  const Report& report = std::get<Report>(read);
  const std::string_view beginning = beginning_of_document(file.text, report.symbols.has_value());
  if (beginning.empty()) {
    put.is_foreign = true;
    put.problem = path + ": is not laid out as vramscope writes reports";
    return put;
  }
  SymbolTable table;
  std::vector<std::uint32_t> own(report.frames.size());
  std::iota(own.begin(), own.end(), 0U);
  table.add(report, own);
  const std::size_t before = table.bytes();
  look_up(report, symbols, deadline, beginning.size() / 5 * 4, table, put);
  const std::optional<SymbolFacts> facts = table.facts();
  if (facts && table.bytes() != before) {
    put.problem = why_not_written(path, beginning, *facts, judged);
  }
  return put;
}

}  // namespace vramscope
