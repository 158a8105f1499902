// A SQLite database: the tables of a report or a trace, and views that answer the README's
// questions. The schema, with what columns mean, is in the file: `.schema` shows it.
// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "reporter/view/export/formats.h"
#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

constexpr const char* kBegin = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN";

constexpr const char* kViews = R"(
CREATE VIEW peak AS SELECT kind, device, peak_bytes, peak_count, place, stack FROM shares JOIN sites USING (site)
  WHERE peak_bytes > 0 ORDER BY kind, device, peak_bytes DESC;
CREATE VIEW leaks AS SELECT kind, device, leaked_bytes, leaked_count, place, stack
  FROM shares JOIN sites USING (site) WHERE leaked_bytes > 0 ORDER BY leaked_bytes DESC;
CREATE VIEW kept AS SELECT held_by, kind, device, bytes, count, place, stack
  FROM kept_shares JOIN sites USING (site) ORDER BY bytes DESC;
CREATE VIEW owners AS SELECT device, owner, kind, device_bytes FROM ledger
  WHERE device_bytes > 0 ORDER BY device, device_bytes DESC;
CREATE VIEW temporary AS SELECT temporary_count, place, stack FROM sites
  WHERE temporary_count > 0 ORDER BY temporary_count DESC;
CREATE VIEW free_pieces AS SELECT segment, blocks.address, size FROM blocks
  WHERE state = 'inactive' ORDER BY size DESC;
)";

// Events tell nothing of what these are made of, so that an empty answer would be a wrong one.
constexpr const char* kNoViewsOfATrace =
    "DROP VIEW owners; DROP VIEW temporary; DROP VIEW free_pieces";

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string primary_key(const TableFacts& table) {
  std::string names;
  for (const std::string& name : table.key) names += (names.empty() ? "" : ", ") + quoted(name);
  return names.empty() ? "" : "  PRIMARY KEY (" + names + ")";
}

// What each column means stands beside it.
std::string create_text(const TableFacts& table) {
  std::string text = "CREATE TABLE " + table.name + " (  -- " + table.doc + "\n";
  const std::string key = primary_key(table);
  for (const Field& field : table.columns) {
    const bool is_text = field.type == "string" || field.type == "kind";
    const bool is_last = &field == &table.columns.back() && key.empty();
    text += "  " + quoted(field.name) + (is_text ? " TEXT" : " INTEGER") + (is_last ? "" : ",") +
            "  -- " + field.doc + "\n";
  }
  if (!key.empty()) text += key + "\n";
  return text + (table.key.size() > 1 ? ") WITHOUT ROWID" : ")");
}

// Writes the tables into a database.
class Database final : public TableWriter {
 public:
  explicit Database(const std::string& path) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path.c_str(), &database_, kFlags, nullptr) != SQLITE_OK) fail();
  }
  ~Database() override {
    end();
    sqlite3_close(database_);
  }

  void run(const char* text) {
    if (sqlite3_exec(database_, text, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  void begin(const TableFacts& table) override {
    run(create_text(table).c_str());
    std::string text = "INSERT INTO " + table.name + " VALUES (?";
    for (std::size_t i = 1; i < table.columns.size(); ++i) text += ",?";
    text += ")";
    if (sqlite3_prepare_v2(database_, text.c_str(), -1, &insert_, nullptr) != SQLITE_OK) fail();
  }
  void add(std::span<const CellValue> cells) override {
    int column = 0;
    for (const CellValue& cell : cells) bind(++column, cell);
    if (sqlite3_step(insert_) != SQLITE_DONE) fail();
    sqlite3_reset(insert_);
  }
  void end() override {
    sqlite3_finalize(insert_);
    insert_ = nullptr;
  }

 private:
  void fail() {
    if (problem_.empty()) problem_ = sqlite3_errmsg(database_);
  }
  void bind(int column, const CellValue& cell) {
    const auto bind_number = [&](auto number) {
      sqlite3_bind_int64(insert_, column, static_cast<sqlite3_int64>(number));
    };
    if (const auto* whole = std::get_if<std::uint64_t>(&cell)) return bind_number(*whole);
    if (const auto* number = std::get_if<std::int64_t>(&cell)) return bind_number(*number);
    if (const bool* truth = std::get_if<bool>(&cell)) return bind_number(*truth ? 1 : 0);
    if (const auto* text = std::get_if<std::string>(&cell)) {
      // Not copied: it is read in this add() alone.
      sqlite3_bind_text(insert_, column, text->data(), static_cast<int>(text->size()),
                        SQLITE_STATIC);
      return;
    }
    sqlite3_bind_null(insert_, column);
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;  // into the table that has begun
  std::string problem_;             // the first
};

}  // namespace

std::string write_sqlite(const Exported& exported, Output& output) {
  const std::string file = output.made_file();
  if (file.empty()) return "a database is written to a file of its own: -o FILE";
  std::string problem;
  Database database(file);
  if (database.problem().empty()) {
    database.run(kBegin);
    problem = write_tables(exported, database);
    database.run(kViews);
    if (exported.names() != nullptr) database.run(kNoViewsOfATrace);
  }
  database.run("COMMIT");
  if (database.problem().empty()) return problem;
  return "cannot write the database: " + database.problem();
}

}  // namespace vramscope
