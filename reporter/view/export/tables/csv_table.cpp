// Tables as CSV in zstd, which every reader of tables knows: what a build without Parquet writes.
// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <charconv>
#include <vector>

#include "reporter/view/export/tables/table_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kPartBytes = 1 << 20;  // of rows that are compressed at once

// RFC 4180 with lines that end in a newline alone. Null is nothing at all, and an empty text is "".
// Nobody's spreadsheet opens these files: a text that begins as a formula does stays as it is.
class CsvTable final : public TableFile {
 public:
  CsvTable(const TableFacts& table, Output& output)
      : output_(output), stream_(ZSTD_createCStream()), packed_(ZSTD_CStreamOutSize()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    for (const Field& field : table.columns) add_text(field.name);
    rows_ += '\n';
  }
  ~CsvTable() override { ZSTD_freeCStream(stream_); }

  void add(std::span<const CellValue> cells) override {
    is_first_ = true;
    for (const CellValue& cell : cells) add_cell(cell);
    rows_ += '\n';
    if (rows_.size() >= kPartBytes) pack(ZSTD_e_continue);
  }
  std::string end() override {
    pack(ZSTD_e_end);
    return problem_;
  }

 private:
  void begin_cell() {
    if (!is_first_) rows_ += ',';
    is_first_ = false;
  }
  void add_number(auto number) {
    char digits[24];
    rows_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  void add_cell(const CellValue& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) return add_text(*text);
    begin_cell();
    if (const auto* number = std::get_if<std::int64_t>(&cell)) return add_number(*number);
    if (const auto* whole = std::get_if<std::uint64_t>(&cell)) return add_number(*whole);
    if (const bool* truth = std::get_if<bool>(&cell)) rows_ += *truth ? "true" : "false";
  }
  void add_text(std::string_view text) {
    begin_cell();
    if (!text.empty() && text.find_first_of(",\"\n\r") == text.npos) {
      rows_ += text;
      return;
    }
    rows_ += '"';
    for (const char c : text) rows_.append(c == '"' ? 2 : 1, c);
    rows_ += '"';
  }
  void pack(ZSTD_EndDirective how) {
    ZSTD_inBuffer rows{rows_.data(), rows_.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer packed{packed_.data(), packed_.size(), 0};
      left = ZSTD_compressStream2(stream_, &packed, &rows, how);
      if (ZSTD_isError(left) != 0) {
        problem_ = std::string("cannot compress: ") + ZSTD_getErrorName(left);
        break;
      }
      output_ << std::string_view(packed_.data(), packed.pos);
    } while (how == ZSTD_e_end ? left != 0 : rows.pos != rows.size);
    rows_.clear();
  }

  Output& output_;
  ZSTD_CStream* stream_;
  std::vector<char> packed_;
  std::string rows_;
  bool is_first_ = true;
  std::string problem_;
};

std::string read_csv(const TableFacts& table, const std::string& pattern) {
  std::string columns;
  for (const Field& field : table.columns) {
    columns.append(columns.empty() ? "" : ", ").append("'").append(field.name).append("': '");
    columns.append(sql_type(field)).append("'");
  }
  return "read_csv('" + pattern + "', compression = 'zstd', header = true, delim = ',', " +
         "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, columns = {" +
         columns + "}, hive_partitioning = true, hive_types = " + std::string(kPartitionTypes) +
         ")";
}

}  // namespace

std::string_view sql_type(const Field& field) {
  return field.type == "integer" ? "BIGINT" : field.type == "boolean" ? "BOOLEAN" : "VARCHAR";
}

const TableForm& csv_form() {
  static constexpr TableForm kForm = {
      .name = "csv",
      .suffix = ".csv.zst",
      .open = [](const TableFacts& table, Output& output) -> std::unique_ptr<TableFile> {
        return std::make_unique<CsvTable>(table, output);
      },
      .reader = read_csv};
  return kForm;
}

}  // namespace vramscope
