// TableFolder is a folder of tables of many reports, partitioned by job and rank as Hive does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/export/tables/table.h"
#include "reporter/view/export/tables/table_file.h"
#include "reporter/view/system/output.h"

namespace vramscope {

// Returns "job=train%2F7/rank=3". What is not known is __HIVE_DEFAULT_PARTITION__, which readers
// take for null. May throw bad_alloc.
[[nodiscard]] std::string partition_of(const ProcessFacts& process);

// Threads: one. Members may throw bad_alloc, filesystem_error never.
class TableFolder {
 public:
  TableFolder(std::string path, const TableForm& form, Readers readers)
      : path_(std::move(path)), form_(form), readers_(readers) {}

  // Makes the folder. Returns "", or why tables cannot be added to what is there.
  [[nodiscard]] std::string open();
  // Returns whether the tables of a report of that name are there.
  [[nodiscard]] bool has(const Report& report, const std::string& name) const;
  // Adds the tables of one report, whose files appear when all of them are complete, and replace
  // those of that name. `name` is that of the report in all tables. Returns "" or one line that
  // says why they were left out.
  [[nodiscard]] std::string add(const Exported& exported, const std::string& name);
  // Writes what all of them share: tables without rows, so that each can be asked for, and the
  // views for DuckDB. Returns "" or why not.
  [[nodiscard]] std::string end();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // of the files that were added

 private:
  class Files;
  [[nodiscard]] std::string write_text(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string views() const;
  [[nodiscard]] std::string add_empty_tables() const;
  [[nodiscard]] std::string add_conversion() const;

  const std::string path_;
  const TableForm& form_;
  const Readers readers_;
  std::uint64_t bytes_ = 0;
};

// Returns the table as it is in such a folder: with the column `report`, and without what its
// folders say. May throw bad_alloc.
[[nodiscard]] TableFacts foldered(const TableFacts& table);

}  // namespace vramscope
