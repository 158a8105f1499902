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
#include <utility>
#include <variant>
#include <vector>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"
#include "reporter/report/symbol_table.h"

namespace vramscope {
namespace {

// Native ones that are to be looked up, in the order in which they are added.
class FramesToName {
 public:
  FramesToName(const Report& report, const SymbolTable& table)
      : report_(report), table_(table), is_known_(report.frames.size()) {}

  void add(const std::vector<std::uint32_t>& some) {
    for (const std::uint32_t frame : some) {
      const FrameFact& fact = report_.frames[frame];
      const bool is_native = fact.code == kNoCode && fact.module < report_.modules.size();
      if (is_native && !is_known_[frame] && !table_.knows(frame)) frames_.push_back(frame);
      is_known_[frame] = true;
    }
  }
  // Those of the threads come last.
  [[nodiscard]] std::vector<std::uint32_t> take() {
    for (const ThreadStart& thread : report_.threads) add(thread.frames);
    return std::move(frames_);
  }

 private:
  const Report& report_;
  const SymbolTable& table_;
  std::vector<bool> is_known_;
  std::vector<std::uint32_t> frames_;
};

// Those of the largest sites first.
std::vector<std::uint32_t> frames_to_name(const Report& report, const SymbolTable& table) {
  std::vector<std::size_t> sites(report.sites.size());
  std::iota(sites.begin(), sites.end(), std::size_t{0});
  const auto rank = [&](std::size_t site) {
    const SiteTotals& totals = report.sites[site].totals;
    return std::tuple(totals.peak_bytes, totals.live_bytes, totals.total_bytes);
  };
  std::stable_sort(sites.begin(), sites.end(),
                   [&](std::size_t a, std::size_t b) { return rank(b) < rank(a); });
  FramesToName frames(report, table);
  for (const std::size_t site : sites) frames.add(report.sites[site].frames);
  return frames.take();
}

std::vector<std::uint32_t> frames_to_name(const Report& report, const SiteList& sites,
                                          const SymbolTable& table) {
  FramesToName frames(report, table);
  for (std::size_t i = 0; i < sites.size(); ++i) frames.add(sites.at(i).frames);
  return frames.take();
}

// A reader refuses longer ones.
bool is_writable(const ResolvedFrame& found) {
  return found.functions.size() <= kMostFunctionsOfFrame &&
         std::all_of(found.functions.begin(), found.functions.end(), [](const SourceFrame& one) {
           return one.function.size() <= kLongestText && one.file.size() <= kLongestText;
         });
}

// Adds what is found; what another machine may find yet is left to it.
void look_up(const Report& report, const std::vector<std::uint32_t>& frames, Symbols& symbols,
             const SymbolsDeadline& deadline, std::uint64_t most_bytes, SymbolTable& table,
             SymbolsPut& put) {
  for (const std::uint32_t frame : frames) {
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

// How many bytes of the document stand before where a last member is added; 0: it is not laid out
// as we write it. Reads the end of the file.
std::uint64_t beginning_of_document(const std::string& path, const struct stat& judged,
                                    bool has_symbols) {
  constexpr std::string_view kEnd = "\n}\n";
  const std::string end = end_of(path, has_symbols ? ",\n\"symbols\":" : kEnd);
  const auto bytes = static_cast<std::uint64_t>(judged.st_size);
  if (!end.ends_with(kEnd) || bytes <= end.size()) return 0;
  // No text of JSON holds a newline, and the symbols stand on one line.
  const std::size_t lines = has_symbols ? 3 : 2;
  const bool is_ours = std::count(end.begin(), end.end(), '\n') == static_cast<long>(lines);
  return is_ours ? bytes - end.size() : 0;
}

// Writes the first `bytes` of the file. Returns false if it ends before.
bool copy_beginning(const std::string& path, std::uint64_t bytes, OutputFile& file) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
  const Descriptor from(path, O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  std::string piece(kPiece, '\0');
  for (std::uint64_t at = 0; at < bytes && file.error() == 0;) {
    const ssize_t count =
        pread(from.number(), piece.data(), std::min(bytes - at, kPiece), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    file.write({piece.data(), static_cast<std::size_t>(count)});
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::string why_not_written(const std::string& path, std::uint64_t beginning,
                            const SymbolFacts& facts, const struct stat& judged) {
  OutputFile file(path);
  file.open();
  const bool is_copied = file.error() == 0 && copy_beginning(path, beginning, file);
  if (is_copied && file.error() == 0) write_symbols(facts, file);
  const int error = is_copied || file.error() != 0 ? file.error() : ESTALE;
  if (error == 0 && file.replace(judged)) return "";
  const int reason = error != 0 ? error : file.error();
  return "cannot write '" + path + "': " + std::generic_category().message(reason);
}

// Judges the file. Returns false with a problem if it is none to which symbols can be added.
bool is_for_symbols(const std::string& path, struct stat& judged, SymbolsPut& put) {
  if (lstat(path.c_str(), &judged) != 0) {
    put.problem = path + ": " + std::strerror(errno);
  } else if (!S_ISREG(judged.st_mode)) {
    put.problem = path + ": is no regular file";
  }
  return put.problem.empty();
}

// sites: in place of the report's own, unless null.
void put_symbols_of(const std::string& path, const Report& report, const SiteList* sites,
                    const struct stat& judged, Symbols& symbols, const SymbolsDeadline& deadline,
                    SymbolsPut& put) {
  const std::uint64_t beginning = beginning_of_document(path, judged, report.symbols.has_value());
  if (beginning == 0) {
    put.is_foreign = true;
    put.problem = path + ": is not laid out as vramscope writes reports";
    return;
  }
  SymbolTable table;
  std::vector<std::uint32_t> own(report.frames.size());
  std::iota(own.begin(), own.end(), 0U);
  table.add(report, own);
  const std::size_t before = table.bytes();
  const std::vector<std::uint32_t> frames =
      sites == nullptr ? frames_to_name(report, table) : frames_to_name(report, *sites, table);
  look_up(report, frames, symbols, deadline, beginning / 5 * 4, table, put);
  const std::optional<SymbolFacts> facts = table.facts();
  if (facts && table.bytes() != before) {
    put.problem = why_not_written(path, beginning, *facts, judged);
  }
}

}  // namespace

SymbolsPut put_symbols(const std::string& path, Symbols& symbols, const SymbolsDeadline& deadline) {
  SymbolsPut put;
  struct stat judged {};
  if (!is_for_symbols(path, judged, put)) return put;
  const auto read = read_report(path);
  if (const auto* error = std::get_if<FileError>(&read)) {
    put.problem = error->message;
    return put;
  }
  put_symbols_of(path, std::get<Report>(read), nullptr, judged, symbols, deadline, put);
  return put;
}

SymbolsPut put_symbols(const SavedReport& written, Symbols& symbols,
                       const SymbolsDeadline& deadline) {
  SymbolsPut put;
  struct stat judged {};
  if (!is_for_symbols(written.path, judged, put)) return put;
  if (written.file != FileIdentity{judged.st_dev, judged.st_ino}) {
    put.is_foreign = true;
    put.problem = written.path + ": was replaced meanwhile";
    return put;
  }
  put_symbols_of(written.path, written.report, &written.sites, judged, symbols, deadline, put);
  return put;
}

}  // namespace vramscope
