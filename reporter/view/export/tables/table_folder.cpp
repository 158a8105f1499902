// Writes the files of a report's tables and gives them their names at last.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/tables/table_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kViews = "views.sql";
constexpr const char* kToParquet = "to_parquet.sql";
constexpr const char* kNull = "__HIVE_DEFAULT_PARTITION__";
constexpr const char* kNoRows = "no_rows";

bool is_partition(const Field& field) {
  return std::ranges::find(kPartitions, field.name) != std::end(kPartitions);
}

// As in addresses of the web, which is what readers undo.
std::string encoded(const std::string& value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
    if (is_plain) {
      text += c;
    } else {
      text.append("%").append(1, kDigits[byte / 16]).append(1, kDigits[byte % 16]);
    }
  }
  return text;
}

std::string made_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? "cannot make the folder '" + path + "': " + error.message() : "";
}

std::string marker(std::string_view form) {
  return "-- tables of Vramscope, version " + std::to_string(kTablesVersion) + ", as " +
         std::string(form) + "\n";
}

std::string create_views(const TableForm& form) {
  std::string text;
  for (const ExportTable& table : export_tables()) {
    const TableFacts facts = foldered(table.facts);
    const std::string pattern = facts.name + "/*/*/*" + std::string(form.suffix);
    text += "-- " + facts.doc + "\nCREATE OR REPLACE VIEW " + facts.name + " AS FROM " +
            form.reader(facts, pattern) + ";\n";
  }
  return text;
}

std::string sql_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result.append(c == '\'' ? 2 : 1, c);
  return result + "'";
}

// What each column means, for those who have only the folder.
std::string columns_view() {
  std::string rows;
  for (const ExportTable& table : export_tables()) {
    for (const Field& field : foldered(table.facts).columns) {
      rows += (rows.empty() ? "" : ",\n  ");
      rows += "(" + sql_text(table.facts.name) + ", " + sql_text(field.name) + ", " +
              sql_text(sql_type(field)) + ", " + sql_text(field.doc) + ")";
    }
  }
  return "CREATE OR REPLACE VIEW columns AS FROM (VALUES\n  " + rows +
         ") AS columns(\"table\", \"column\", type, meaning);\n";
}

}  // namespace

std::string partition_of(const ProcessFacts& process) {
  std::string text = "job=";
  text += process.job.empty() ? kNull : encoded(process.job);
  text += "/rank=";
  text += process.rank < 0 ? kNull : std::to_string(process.rank);
  return text;
}

TableFacts foldered(const TableFacts& table) {
  TableFacts result = table;
  std::erase_if(result.columns, is_partition);
  result.columns.insert(result.columns.begin(),
                        Field{.name = "report",
                              .doc = "name of the report or trace, without its ending",
                              .type = "string"});
  return result;
}

// The files of one report. A file is made at the first row.
class TableFolder::Files final : public TableWriter {
 public:
  Files(const TableFolder& folder, std::string partition, std::string name, std::string report)
      : folder_(folder),
        partition_(std::move(partition)),
        name_(std::move(name)),
        report_(std::move(report)) {}

  [[nodiscard]] std::string path_of(const std::string& table) const {
    return folder_.path_ + "/" + table + "/" + partition_ + "/" + name_ +
           std::string(folder_.form_.suffix);
  }

  void begin(const TableFacts& table) override {
    facts_ = &table;
    kept_.clear();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!is_partition(table.columns[i])) kept_.push_back(i);
    }
    cells_.assign(1 + kept_.size(), CellValue());
    cells_.front() = report_;
  }
  void add(std::span<const CellValue> cells) override {
    if (!problem_.empty()) return;
    if (file_ == nullptr) make_file();
    for (std::size_t i = 0; i < kept_.size(); ++i) cells_[1 + i] = cells[kept_[i]];
    if (file_ != nullptr) file_->add(cells_);
  }
  void end() override {
    // Rows of a report that this one replaces would stay.
    if (file_ == nullptr && access(path_of(facts_->name).c_str(), F_OK) == 0) make_file();
    if (file_ != nullptr) {
      if (const std::string why = file_->end(); !why.empty()) {
        fail("cannot write '" + path_of(facts_->name) + "': " + why);
      }
    }
    file_.reset();
  }
  void make_file() {
    const std::string path = path_of(facts_->name);
    problem_ = made_folder(fs::path(path).parent_path());
    if (!problem_.empty()) return;
    outputs_.push_back({std::make_unique<Output>(path, folder_.readers_), path});
    file_ = folder_.form_.open(foldered(*facts_), *outputs_.back().output);
  }

  // Gives all files their names, in the order of the tables. Returns "" or why not.
  [[nodiscard]] std::string publish(std::uint64_t& bytes) {
    for (Written& written : outputs_) {
      if (problem_.empty()) problem_ = written.output->end();
      struct stat found {};
      if (stat(written.path.c_str(), &found) == 0)
        bytes += static_cast<std::uint64_t>(found.st_size);
    }
    return problem_;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Written {
    std::unique_ptr<Output> output;
    std::string path;
  };
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  const TableFolder& folder_;
  const std::string partition_;
  const std::string name_;  // of the files
  const CellValue report_;  // in each row
  const TableFacts* facts_ = nullptr;
  std::vector<std::size_t> kept_;  // the table's columns that are in the file
  std::vector<CellValue> cells_;
  std::vector<Written> outputs_;  // before the file, which writes to the last of them
  std::unique_ptr<TableFile> file_;
  std::string problem_;
};

std::string TableFolder::open() {
  if (std::string why = made_folder(path_); !why.empty()) return why;
  std::error_code error;
  if (fs::is_empty(path_, error) && !error) return "";
  const std::string expected = marker(form_.name);
  const std::string found = beginning_of(path_ + "/" + kViews, expected.size());
  if (found == expected) return "";
  if (!found.starts_with("-- tables of Vramscope")) {
    return "'" + path_ + "' is not empty and has no tables of Vramscope; choose another folder";
  }
  return "'" + path_ + "' has other tables than " + expected.substr(3, expected.size() - 4) +
         "; choose another folder";
}

bool TableFolder::has(const Report& report, const std::string& name) const {
  const Files files(*this, partition_of(report.process), name, harmless(name));
  return access(files.path_of(export_tables().back().facts.name).c_str(), F_OK) == 0;
}

std::string TableFolder::add(const Exported& exported, const std::string& name) {
  Files files(*this, partition_of(exported.report().process), name, harmless(name));
  std::string problem = write_tables(exported, files);
  if (problem.empty()) problem = files.problem();
  return problem.empty() ? files.publish(bytes_) : problem;
}

std::string TableFolder::write_text(const std::string& name, const std::string& text) const {
  Output output(path_ + "/" + name, readers_);
  output << text;
  return output.end();
}

std::string TableFolder::views() const {
  return marker(form_.name) + "-- In this folder: duckdb -init " + kViews + "\n" +
         create_views(form_) + columns_view();
}

// A table without any file could not be asked for.
std::string TableFolder::add_empty_tables() const {
  for (const ExportTable& table : export_tables()) {
    const std::string folder = path_ + "/" + table.facts.name;
    if (access(folder.c_str(), F_OK) == 0) continue;
    const std::string path = folder + "/" + partition_of({});
    if (std::string why = made_folder(path); !why.empty()) return why;
    Output output(path + "/" + kNoRows + std::string(form_.suffix), readers_);
    if (std::string why = form_.open(foldered(table.facts), output)->end(); !why.empty())
      return why;
    if (std::string why = output.end(); !why.empty()) return why;
  }
  return "";
}

// DuckDB writes no file for a table without rows, and makes no folder for another file.
std::string TableFolder::add_conversion() const {
  std::string text = views();
  for (const ExportTable& table : export_tables()) {
    const std::string& name = table.facts.name;
    const std::string folder = "parquet/" + name;
    const std::string empty = folder + "/" + partition_of({});
    if (std::string why = made_folder(path_ + "/" + empty); !why.empty()) return why;
    text += "COPY (FROM " + name + ") TO '" + folder +
            "' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (job, rank), " +
            "OVERWRITE_OR_IGNORE);\n";
    text += "COPY (SELECT * EXCLUDE (job, rank) FROM " + name + " LIMIT 0) TO '" + empty + "/" +
            kNoRows + ".parquet' (FORMAT parquet);\n";
  }
  const TableFolder converted("parquet", parquet_form(), readers_);
  if (std::string why = write_text("parquet/views.sql", converted.views()); !why.empty())
    return why;
  return write_text(kToParquet, text);
}

std::string TableFolder::end() {
  std::string why = add_empty_tables();
  if (why.empty()) why = write_text(kViews, views());
  return why.empty() && &form_ == &csv_form() ? add_conversion() : why;
}

}  // namespace vramscope
