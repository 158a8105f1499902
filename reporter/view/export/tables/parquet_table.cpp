// Tables as Parquet, which the plug-in writes, many rows at once.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <vector>

#include "reporter/view/export/build_parts.h"
#include "reporter/view/export/tables/parquet_plugin.h"
#include "reporter/view/export/tables/table_file.h"
#include "reporter/view/system/installation.h"

namespace vramscope {
namespace {

constexpr std::size_t kRowsAtOnce = 1 << 16;

// The plug-in, or why there is none. It stays loaded.
struct Loaded {
  const ParquetPlugin* plugin = nullptr;
  std::string problem = {};
};
Loaded load() {
  if (!why_no_parquet().empty()) return {.problem = std::string(why_no_parquet())};
  const InstalledFile found = find_parquet_plugin();
  if (!found.error.empty()) return {.problem = found.error};
  void* const library = dlopen(found.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto* const plugin =
      library == nullptr ? nullptr
                         : static_cast<const ParquetPlugin*>(dlsym(library, kParquetSymbol));
  if (plugin == nullptr) return {.problem = dlerror()};
  if (plugin->version != kParquetVersion) {
    return {.problem = found.path + " is of another version of Vramscope"};
  }
  return {.plugin = plugin};
}
const Loaded& loaded() {
  static const Loaded kLoaded = load();
  return kLoaded;
}

void set_bit(std::vector<std::uint8_t>& bits, std::size_t row, bool value) {
  if (row % 8 == 0) bits.push_back(0);
  if (value) bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | (1U << (row % 8)));
}

// Rows of a column that wait.
class Waiting {
 public:
  explicit Waiting(const Field& field) : field_(field) { clear(); }

  [[nodiscard]] ParquetColumn::Type type() const {
    return field_.type == "integer"   ? ParquetColumn::integer
           : field_.type == "boolean" ? ParquetColumn::truth
                                      : ParquetColumn::text;
  }
  [[nodiscard]] ParquetColumn column() const {
    return {field_.name.c_str(), type(), field_.may_be_null};
  }

  void add(std::size_t row, const CellValue& cell) {
    const bool is_known = !std::holds_alternative<std::monostate>(cell);
    if (field_.may_be_null) set_bit(known_, row, is_known);
    if (!is_known) ++nulls_;
    if (is_text_) return add_text(cell);
    if (is_truth_) return set_bit(truths_, row, is_known && std::get<bool>(cell));
    const auto* const whole = std::get_if<std::uint64_t>(&cell);
    const auto* const number = std::get_if<std::int64_t>(&cell);
    numbers_.push_back(number != nullptr  ? *number
                       : whole != nullptr ? static_cast<std::int64_t>(*whole)
                                          : 0);
  }
  [[nodiscard]] ParquetCells cells() const {
    return {numbers_.data(), truths_.data(), field_.may_be_null ? known_.data() : nullptr,
            ends_.data(),    text_.data(),   nulls_};
  }
  void clear() {
    numbers_.clear(), truths_.clear(), known_.clear(), ends_.assign(1, 0), text_.clear();
    nulls_ = 0;
  }
  [[nodiscard]] std::size_t text_bytes() const { return text_.size(); }

 private:
  void add_text(const CellValue& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) text_ += *text;
    ends_.push_back(static_cast<std::int32_t>(text_.size()));
  }

  const Field& field_;
  const bool is_text_ = type() == ParquetColumn::text;
  const bool is_truth_ = type() == ParquetColumn::truth;
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint8_t> truths_, known_;
  std::vector<std::int32_t> ends_;
  std::string text_;
  std::int64_t nulls_ = 0;
};

class ParquetTable final : public TableFile {
 public:
  ParquetTable(TableFacts table, Output& output)
      : table_(std::move(table)), plugin_(*loaded().plugin) {
    std::vector<ParquetColumn> columns;
    for (const Field& field : table_.columns) {
      waiting_.emplace_back(field);
      columns.push_back(waiting_.back().column());
    }
    const std::string version = std::to_string(kTablesVersion);
    const ParquetNote notes[] = {{"vramscope.schema", version.c_str()},
                                 {"vramscope.version", VRAMSCOPE_VERSION},
                                 {"vramscope.table", table_.name.c_str()}};
    keep(plugin_.open(output.made_file().c_str(), columns.data(), columns.size(), notes,
                      std::size(notes), &file_));
  }
  ~ParquetTable() override { plugin_.close(file_); }

  void add(std::span<const CellValue> cells) override {
    std::size_t most_text = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      waiting_[i].add(rows_, cells[i]);
      most_text = std::max(most_text, waiting_[i].text_bytes());
    }
    constexpr std::size_t kMostText = std::size_t{16} << 20;
    if (++rows_ == kRowsAtOnce || most_text > kMostText) write();
  }
  std::string end() override {
    write();
    if (problem_.empty()) keep(plugin_.finish(file_));
    return problem_;
  }

 private:
  void keep(const char* problem) {
    if (problem != nullptr && problem_.empty()) problem_ = problem;
  }
  void write() {
    std::vector<ParquetCells> cells;
    for (const Waiting& column : waiting_) cells.push_back(column.cells());
    if (problem_.empty() && rows_ != 0) {
      keep(plugin_.write(file_, cells.data(), static_cast<std::int64_t>(rows_)));
    }
    for (Waiting& column : waiting_) column.clear();
    rows_ = 0;
  }

  const TableFacts table_;
  const ParquetPlugin& plugin_;
  void* file_ = nullptr;
  std::vector<Waiting> waiting_;
  std::size_t rows_ = 0;
  std::string problem_;
};

std::string read_parquet(const TableFacts&, const std::string& pattern) {
  return "read_parquet('" + pattern + "', union_by_name = true, hive_partitioning = true, " +
         "hive_types = " + std::string(kPartitionTypes) + ")";
}

}  // namespace

const std::string& why_no_parquet_now() { return loaded().problem; }

const TableForm& parquet_form() {
  static constexpr TableForm kForm = {
      .name = "parquet",
      .suffix = ".parquet",
      .open = [](const TableFacts& table, Output& output) -> std::unique_ptr<TableFile> {
        return std::make_unique<ParquetTable>(table, output);
      },
      .reader = read_parquet};
  return kForm;
}

}  // namespace vramscope
