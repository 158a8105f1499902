// read_report() and write_report() are the way between a report and its JSON file (json.cpp alone
// includes the JSON library).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

namespace vramscope {

struct Report;
class SiteList;

// Why a file could not be written or read: one line, no newline, with path, place and reason; empty
// where there was no memory to write it.
struct FileError {
  std::string message;
};

struct FileIdentity;

// Writes `report` to a temporary name in the folder of `path` (mode 0600, links not followed) and
// publishes it without replacing: a taken name gets "~1", "~2", ... The name used is returned.
// Arrays are written element by element. Never throws.
[[nodiscard]] std::variant<std::string, FileError> write_report(const Report& report,
                                                                const std::string& path) noexcept;
// The same with `sites` in the place of the report's own.
// `written`, unless null: which file that is.
[[nodiscard]] std::variant<std::string, FileError> write_report(
    const Report& report, const SiteList& sites, const std::string& path,
    FileIdentity* written = nullptr) noexcept;

// The same for a report of memory that may be damaged. It is read back before it has its name:
// where read_report() refuses it there is no file, and the error is why, without a path.
[[nodiscard]] std::variant<std::string, FileError> write_readable_report(
    const Report& report, const std::string& path) noexcept;

// Reads a report file. The error tells file, byte offset or field, and what was expected. Unknown
// fields are skipped. Never throws; memory is bounded by a small multiple of the file's size.
[[nodiscard]] std::variant<Report, FileError> read_report(const std::string& path) noexcept;

}  // namespace vramscope
