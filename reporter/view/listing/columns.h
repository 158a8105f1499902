// Columns are the fields of a listing's rows, declared once for text, JSON, CSV, --sort and
// listings.schema.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/listing/cell_value.h"
#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/field.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/json_text.h"

namespace vramscope {

template <class Value>
constexpr bool is_optional_value = false;
template <class Value>
constexpr bool is_optional_value<std::optional<Value>> = true;

// The cell of a value; of an enumeration the word for it.
template <class Value>
[[nodiscard]] CellValue cell_of(Value value, std::span<const std::string_view> words = {}) {
  if constexpr (is_optional_value<Value>) {
    return value ? cell_of(*std::move(value), words) : CellValue();
  } else if constexpr (std::is_same_v<Value, Kind>) {
    return std::string(kKindNames[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(words[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value;
  } else if constexpr (std::unsigned_integral<Value>) {
    return std::uint64_t{value};
  } else if constexpr (std::signed_integral<Value>) {
    return std::int64_t{value};
  } else if constexpr (std::is_constructible_v<CellValue, Value>) {
    return CellValue(std::move(value));
  } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
    return std::string(std::string_view(value));
  } else {
    return CellNumbers(std::begin(value), std::end(value));
  }
}

// The name of its type in Field.
template <class Value>
[[nodiscard]] constexpr const char* type_of() {
  if constexpr (is_optional_value<Value>) {
    return type_of<typename Value::value_type>();
  } else if constexpr (std::is_same_v<Value, Kind>) {
    return "kind";
  } else if constexpr (std::is_same_v<Value, bool>) {
    return "boolean";
  } else if constexpr (std::integral<Value>) {
    return "integer";
  } else if constexpr (std::is_same_v<Value, CellStack>) {
    return "strings";
  } else if constexpr (std::is_enum_v<Value> || std::is_convertible_v<Value, std::string_view>) {
    return "string";
  } else {
    return "integers";
  }
}

// What lies in a row at the end of these steps, which are members, or functions of what the last
// step gave.
template <class Row, class Step, class... More>
[[nodiscard]] auto follow(const Row& row, Step step, More... more) {
  if constexpr (sizeof...(more) == 0) {
    return std::invoke(step, row);
  } else {
    return follow(std::invoke(step, row), more...);
  }
}
// within(&Row::part)(&Part::member) gives row.part.member.
template <class... Steps>
[[nodiscard]] auto within(Steps... steps) {
  return
      [=](auto... more) { return [=](const auto& row) { return follow(row, steps..., more...); }; };
}

// What else a column is given. In a table of the text it has this title, and yields as a
// Table::Column does;
struct Titled {
  explicit Titled(std::string its, unsigned when = 0) : title(std::move(its)), yields(when) {}
  std::string title;
  unsigned yields;
};
// below it stands this sentence.
struct Legend {
  explicit Legend(std::string its) : sentence(std::move(its)) {}
  std::string sentence;
};
// Its texts are these, which are also the names of an enumeration's values.
struct OneOf {
  explicit OneOf(std::span<const std::string_view> its) : words(its) {}
  std::span<const std::string_view> words;
};
// Where its name does not tell the unit, or its values not the type.
struct InUnit {
  explicit InUnit(std::string its) : unit(std::move(its)) {}
  std::string unit;
};
struct OfType {
  explicit OfType(std::string its) : type(std::move(its)) {}
  std::string type;
};

template <class Value>
concept IsList = requires(const Value& all) {
  std::begin(all);
};

template <class Row>
struct Column : Field {
  template <class Get>
  using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;

  // `get` gives a value for a row, or is a member. `more`: of the above, and what gives its text,
  // which is else that of its unit.
  template <std::invocable<const Row&> Get, class... More>
  Column(std::string its_name, std::string its_doc, Get get, More... more)
      : Field{.name = std::move(its_name),
              .doc = std::move(its_doc),
              .type = type_of<Value<Get>>(),
              .may_be_null = is_optional_value<Value<Get>>},
        align(type == "integer" ? Table::Align::right : Table::Align::left) {
    (add(std::move(more)), ...);
    cell = [get, its_words = words](const Row& row) {
      return cell_of(std::invoke(get, row), its_words);
    };
  }
  // Objects with these columns: `get` gives a list of items; or one, or a pointer to one, which is
  // null where there is none.
  template <class Item, std::invocable<const Row&> Get>
  Column(std::string its_name, std::string its_doc, std::vector<Column<Item>> columns, Get get)
      : Field{.name = std::move(its_name),
              .doc = std::move(its_doc),
              .type = IsList<Value<Get>> ? "objects" : "object",
              .may_be_null = std::is_pointer_v<Value<Get>>,
              .fields = fields_of(columns)},
        write([get, columns = std::move(columns)](JsonText& json, const Row& row) {
          add_value(json, std::invoke(get, row), columns);
        }) {}
  // What `writes` writes to JSON.
  Column(Field field, std::function<void(JsonText& json, const Row& row)> writes)
      : Field(std::move(field)), write(std::move(writes)) {}
  // Of the text alone.
  template <class... More>
  Column(Table::Column column, std::function<std::string(const Row& row)> its_text, More... more)
      : title(column.title), yields(column.yields), align(column.align), text(std::move(its_text)) {
    (add(std::move(more)), ...);
  }

  std::function<CellValue(const Row& row)> cell = {};  // {}: neither CSV nor --sort have it
  std::function<void(JsonText& json, const Row& row)> write = {};
  std::string title = {};  // "": no table has it, unless it is of the text alone
  unsigned yields = 0;
  Table::Align align = Table::Align::left;
  std::function<std::string(const Row& row)> text = {};
  std::string legend = {};

  [[nodiscard]] bool is_in_data() const { return !name.empty(); }
  [[nodiscard]] bool is_in_text() const { return !is_in_data() || !title.empty(); }

 private:
  void add(Titled more) { title = std::move(more.title), yields = more.yields; }
  void add(Legend more) { legend = std::move(more.sentence); }
  void add(OneOf more) { words = more.words; }
  void add(InUnit more) { unit = std::move(more.unit); }
  void add(OfType more) { type = std::move(more.type); }
  void add(std::function<std::string(const Row& row)> more) { text = std::move(more); }
};
template <class Row>
using Columns = std::vector<Column<Row>>;

template <class Row>
[[nodiscard]] std::vector<Field> fields_of(const Columns<Row>& columns) {
  std::vector<Field> fields;
  for (const Column<Row>& column : columns) {
    if (column.is_in_data()) fields.push_back(column);
  }
  return fields;
}

// Of those that CSV has.
template <class Row>
[[nodiscard]] std::vector<std::string> names_of(const Columns<Row>& columns) {
  std::vector<std::string> names;
  for (const Column<Row>& column : columns) {
    if (column.cell) names.push_back(column.name);
  }
  return names;
}

template <class Row>
void append(Columns<Row>& columns, const Columns<Row>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

// The rows in the order that is asked for, if it is by one of these columns.
template <class Row>
void arrange(std::vector<Row>& rows, const Columns<Row>& columns, const RowChoice& choice) {
  if (choice.sort.empty()) return;
  const std::vector<std::string> names = names_of(columns);
  for (const Column<Row>& column : columns) {
    if (!column.cell || !choice.is_by(column.name, names)) continue;
    std::vector<CellValue> cells;
    for (const Row& row : rows) cells.push_back(column.cell(row));
    std::vector<Row> sorted;
    for (const std::size_t i : order_of(cells, choice)) sorted.push_back(rows[i]);
    rows = std::move(sorted);
    return;
  }
}

// The first ones; 0: all.
template <class Row>
[[nodiscard]] std::span<const Row> first_rows(const std::vector<Row>& rows, std::size_t most) {
  return std::span(rows).first(rows_shown(rows.size(), most));
}
// The first ones in the order that is asked for.
template <class Row>
[[nodiscard]] std::vector<Row> chosen_rows(std::vector<Row> rows, const Columns<Row>& columns,
                                           const RowChoice& choice) {
  arrange(rows, columns, choice);
  rows.erase(
      rows.end() - static_cast<std::ptrdiff_t>(rows.size() - rows_shown(rows.size(), choice.most)),
      rows.end());
  return rows;
}

// The fields of an object that is open.
template <class Row>
void add_fields(JsonText& json, const Row& row, const Columns<Row>& columns) {
  for (const Column<Row>& column : columns) {
    if (!column.is_in_data()) continue;
    json.key(column.name);
    column.cell ? (void)json.cell(column.cell(row)) : column.write(json, row);
  }
}

// An object, an array of such, or null for a null pointer.
template <class Value, class Item>
void add_value(JsonText& json, const Value& value, const Columns<Item>& columns) {
  if constexpr (std::is_pointer_v<Value>) {
    value == nullptr ? (void)json.null() : add_value(json, *value, columns);
  } else if constexpr (IsList<Value>) {
    json.array();
    for (const auto& item : value) add_value(json, item, columns);
    json.end();
  } else {
    add_fields(json.object(), value, columns);
    json.end();
  }
}

// The whole of a listing.
template <class Value, class Item>
[[nodiscard]] std::string json_of(const Value& value, const Columns<Item>& columns) {
  JsonText json;
  add_value(json, value, columns);
  return json.text();
}

// The first rows, after titles where none are there yet.
template <class Row>
void add_rows(CsvText& csv, const std::vector<Row>& rows, const Columns<Row>& columns,
              std::size_t most = 0) {
  csv.titles(names_of(columns));
  for (std::size_t i = 0; i < rows_shown(rows.size(), most); ++i) {
    csv.begin();
    for (const Column<Row>& column : columns) {
      if (column.cell) csv.cell(column.cell(rows[i]));
    }
    csv.end();
  }
}

// Of a table of the text, before `last`.
template <class Row>
[[nodiscard]] std::vector<Table::Column> titles_of(const Columns<Row>& columns,
                                                   std::vector<Table::Column> last = {}) {
  std::vector<Table::Column> titles;
  for (const Column<Row>& column : columns) {
    if (column.is_in_text()) titles.push_back({column.title, column.align, column.yields});
  }
  titles.insert(titles.end(), last.begin(), last.end());
  return titles;
}

template <class Row>
[[nodiscard]] std::vector<std::string> text_cells(const Columns<Row>& columns, const Row& row,
                                                  const Page& page) {
  std::vector<std::string> cells;
  for (const Column<Row>& column : columns) {
    if (!column.is_in_text()) continue;
    cells.push_back(
        printable(column.text ? column.text(row) : text_of(column.cell(row), column), page));
  }
  return cells;
}

// Those of the text with these titles, in this order.
template <class Row>
[[nodiscard]] Columns<Row> picked(const Columns<Row>& columns,
                                  const std::vector<std::string_view>& titles) {
  Columns<Row> found;
  for (const std::string_view title : titles) {
    const auto has_title = [=](const auto& column) { return column.title == title; };
    found.push_back(*std::ranges::find_if(columns, has_title));
  }
  return found;
}

// The column with that title is on every page.
template <class Row>
void keep(Columns<Row>& columns, std::string_view title) {
  for (Column<Row>& column : columns) {
    if (column.title == title) column.yields = 0;
  }
}

// The legends of the columns with these titles: " TIME: in the allocating calls."
template <class Row>
[[nodiscard]] std::string legend_of(const Columns<Row>& columns,
                                    const std::vector<std::string>& titles) {
  std::string text;
  for (const Column<Row>& column : columns) {
    const std::string& legend = column.legend;
    if (!legend.empty() && std::ranges::count(titles, column.title) != 0) {
      text += " " + legend;
    }
  }
  return text;
}

// "  and 7 more settings" of those behind the first `most`, a line; "": none.
template <class Row>
[[nodiscard]] std::string and_more(const std::vector<Row>& rows, std::size_t most,
                                   std::string_view noun) {
  return and_more(rows.size() - rows_shown(rows.size(), most), noun);
}

// The first rows.
template <class Row>
[[nodiscard]] Table table_of(const Columns<Row>& columns, const std::vector<Row>& rows,
                             const Page& page, std::size_t most = 0) {
  Table table(titles_of(columns));
  for (std::size_t i = 0; i < rows_shown(rows.size(), most); ++i) {
    table.add(text_cells(columns, rows[i], page));
  }
  return table;
}

}  // namespace vramscope
