// read_report() and write_report() convert between a report and its JSON file. Only json.cpp
// includes the JSON library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

namespace vramscope {

struct Report;
class SiteList;

// Why a file could not be written or read: one line without a newline, with path, position and
// reason. Empty if memory was exhausted.
struct FileError {
  std::string message;
};

struct FileIdentity;

// Writes `report` to a temporary name in the folder of `path` (mode 0600, links are not followed)
// and publishes it without replacing a file: a taken name gets "~1", "~2", ... Returns the name
// that was used. Arrays are written element by element. Never throws.
[[nodiscard]] std::variant<std::string, FileError> write_report(const Report& report,
                                                                const std::string& path) noexcept;
// Does the same with `sites` in place of the report's own sites. written: receives the file's
// identity, unless null.
[[nodiscard]] std::variant<std::string, FileError> write_report(
    const Report& report, const SiteList& sites, const std::string& path,
    FileIdentity* written = nullptr) noexcept;

// Does the same for a report of memory that may be damaged. The report is read back before it gets
// its name. If read_report() refuses it, no file remains, and the error gives the reason without a
// path.
[[nodiscard]] std::variant<std::string, FileError> write_readable_report(
    const Report& report, const std::string& path) noexcept;

// Reads a report file. An error names the file, the byte offset or field, and what was expected.
// Unknown fields are skipped. Never throws. Memory is bounded by a small multiple of the file's
// size.
[[nodiscard]] std::variant<Report, FileError> read_report(const std::string& path) noexcept;

}  // namespace vramscope
