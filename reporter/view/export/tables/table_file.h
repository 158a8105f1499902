// TableFile is a file with the rows of one table of one report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "reporter/view/export/tables/table.h"
#include "reporter/view/system/output.h"

namespace vramscope {

// The first error is kept, and everything after it is dropped. Threads: one. Members may throw
// bad_alloc.
class TableFile {
 public:
  TableFile() = default;
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  virtual ~TableFile() = default;
  virtual void add(std::span<const CellValue> cells) = 0;
  // Completes the file, which then has all rows but not yet its name. Returns "" or why not.
  [[nodiscard]] virtual std::string end() = 0;
};

// A form of such files, and how DuckDB reads a folder of them.
struct TableForm {
  std::string_view name;    // "parquet"
  std::string_view suffix;  // ".parquet"
  // Returns a file that writes to the output, which outlives it. May throw bad_alloc.
  std::unique_ptr<TableFile> (*open)(const TableFacts& table, Output& output) = nullptr;
  // Returns what stands behind FROM, for the files of that pattern. May throw bad_alloc.
  std::string (*reader)(const TableFacts& table, const std::string& pattern) = nullptr;
};

// The partition columns, which lie in the names of folders and not in files.
inline constexpr std::string_view kPartitions[] = {"job", "rank"};
inline constexpr std::string_view kPartitionTypes = "{'job': VARCHAR, 'rank': BIGINT}";

// Returns BIGINT, VARCHAR or BOOLEAN.
[[nodiscard]] std::string_view sql_type(const Field& field);

[[nodiscard]] const TableForm& csv_form();
[[nodiscard]] const TableForm& parquet_form();
// Returns "", or one clause that says why this process cannot write Parquet: the build lacks it, or
// the loader does not find its library. The first call loads the library.
[[nodiscard]] const std::string& why_no_parquet_now();

}  // namespace vramscope
