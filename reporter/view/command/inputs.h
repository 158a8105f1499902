// report_files() says which files a verb was given by words that name files, folders or patterns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/trigger.h"

namespace vramscope {

// The paths of the reports that are meant, in the order of the words, those of a folder or pattern
// by name. A word that is there is that file, and of a folder the reports in it: files whose names
// hold ".json" and that begin as reports do. Live files in it of processes that died are recovered
// first. Any other word with *, ? or [ in it is a pattern, for those who quote it. Empty: none, and
// `tell` is told why, as it is of empty files in folders, which are left out unless they are taken.
// May throw bad_alloc.
enum class EmptyFiles : std::uint8_t { left_out, taken };
[[nodiscard]] std::vector<std::string> report_files(
    const std::vector<std::string>& words, const std::function<void(std::string_view)>& tell,
    EmptyFiles empty = EmptyFiles::left_out);

// The report in the current folder that was written last, by the time of its file; "": there is
// none.
[[nodiscard]] std::string newest_report_here();

[[nodiscard]] bool is_folder(const std::string& path);

// Whether the file begins as a trace does, or as one that zstd compressed.
[[nodiscard]] bool is_trace(const std::string& path);

// Whether the report in the file was written for this trigger. Reads its beginning alone.
[[nodiscard]] bool is_of_trigger(const std::string& path, Trigger trigger);

// Reports in the folder of the file at `path` that were written for this trigger, by name; the file
// itself is left out.
[[nodiscard]] std::vector<std::string> reports_beside(const std::string& path, Trigger trigger);

// What a page of ours begins with.
inline constexpr std::string_view kPageBeginning = "<!doctype html><!-- Vramscope -->";

// The rule of every -o but that of `run`, which takes another name: a file that is there stays.
// Replaced are an empty one, a page of ours, what is no file (a device, a pipe), and with --force
// (`forced`) any other but one of the `words` that are read.
enum class Overwriting : std::uint8_t { asked_for, forced };

// Why nothing may be written to `output`, "'x.txt' is there already; ...". "": it may.
[[nodiscard]] std::string lost_by(const std::string& output, const std::vector<std::string>& words,
                                  Overwriting overwriting);

}  // namespace vramscope
