// The archive for fields.h that writes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json_writer.h"

#include <algorithm>
#include <charconv>

#include "reporter/report/fields.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {

namespace {

class JsonWriter {
 public:
  JsonWriter(const SiteList* sites, OutputFile& file) : sites_(sites), file_(file) {}

  template <class T>
  void operator()(std::string_view name, const T& value) {
    key(name);
    put(value);
  }
  template <class T>
  void required(std::string_view name, const T& value) {
    (*this)(name, value);
  }
  void fixed(std::string_view name, std::string_view json) {
    key(name);
    file_.write(json);
  }
  void index(std::string_view name) { (*this)(name, index_); }
  template <class T>
  void if_there(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  template <class T>
  void elements(std::string_view name, const std::vector<T>& values) {
    elements(name, values.size(), [&](std::size_t i) -> const T& { return values[i]; });
  }
  void elements(std::string_view name, const std::vector<Site>& sites) {
    if (sites_ == nullptr) {
      elements(name, sites.size(), [&](std::size_t i) -> const Site& { return sites[i]; });
    } else {
      elements(name, sites_->size(), [&](std::size_t i) { return sites_->at(i); });
    }
  }
  void elements(std::string_view name, const std::vector<MergedProcess>& processes) {
    const ProcessList* const list = sites_ == nullptr ? nullptr : sites_->processes();
    if (list == nullptr) {
      elements(name, processes.size(),
               [&](std::size_t i) -> const MergedProcess& { return processes[i]; });
    } else {
      elements(name, list->size(), [&](std::size_t i) { return list->at(i); });
    }
  }

  // Writes the whole document, one member a line, so that people can read it and tools can compare
  // it.
  void document(const Report& report) {
    put(report);
    file_.write("\n");
  }
  // Writes one more member of a document, behind others, and the end of the document.
  template <class T>
  void last_member(std::string_view name, const T& value) {
    first_ = false;
    depth_ = 1;
    (*this)(name, value);
    file_.write("\n}\n");
  }

 private:
  template <class At>
  void elements(std::string_view name, std::size_t count, At&& at) {
    key(name);
    const std::uint64_t outer = index_;
    begin("[");
    for (index_ = 0; index_ < count; ++index_) {
      separate();
      file_.write("\n");
      put(at(index_));
    }
    end("]");
    index_ = outer;
  }
  void separate() {
    if (!first_) file_.write(",");
    first_ = false;
  }
  void key(std::string_view name) {
    separate();
    if (depth_ == 1) file_.write("\n");  // a member of the document
    file_.write("\"");
    file_.write(name);
    file_.write("\":");
  }
  void begin(std::string_view bracket) {
    file_.write(bracket);
    first_ = true;
    ++depth_;
  }
  void end(std::string_view bracket) {
    file_.write(bracket);
    first_ = false;
    --depth_;
  }

  template <std::integral T>
  void put(T value) {
    char digits[24];  // 20 for 64 bits, and a sign
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    file_.write({digits, static_cast<std::size_t>(result.ptr - digits)});
  }
  void put(bool value) { file_.write(value ? "true" : "false"); }
  void put(const std::string& text) { file_.write(json_string(text)); }
  void put(Kind kind) { put_name(kKindNames[static_cast<std::size_t>(kind)]); }
  void put(Axis axis) { put_name(kAxisNames[static_cast<std::size_t>(axis)]); }
  void put(Disagreement what) { put_name(kDisagreementNames[static_cast<std::size_t>(what)]); }
  void put(BlockState state) { put_name(kBlockStateNames[static_cast<std::size_t>(state)]); }
  void put_name(std::string_view name) {
    file_.write("\"");
    file_.write(name);
    file_.write("\"");
  }

  template <class T>
  void put(const OrNull<T>& number) {
    if (number.value == number.none) {
      file_.write("null");
    } else {
      put(number.value);
    }
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      file_.write("null");
    }
  }
  template <class T>
  void put(const Ordinal<T>& ordinal) {
    put(ordinal.value);
  }
  template <class Flag>
  void put(const Choice<Flag>& choice) {
    put_name(choice.value ? choice.yes : choice.no);
  }
  template <class Strings>
  void put(const Dictionary<Strings>& dictionary) {
    auto sorted = dictionary.value;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    begin("{");
    for (const auto& [name, value] : sorted) {
      separate();
      put(name);
      file_.write(":");
      put(value);
    }
    end("}");
  }
  template <class Owner>
  void put(const FlatStatistics<Owner>& statistics) {
    begin("{");
    for (const auto& [name, value] : memory_stats(statistics.value)) (*this)(name, value);
    end("}");
  }
  void put(const SchemaMark&) {
    begin("{");
    key("name");
    put_name(kSchemaName);
    (*this)("version", kReportVersion);
    end("}");
  }
  // Leaves out zeroes at the end.
  void put(const Histogram& histogram) {
    std::size_t used = histogram.size();
    while (used > 0 && histogram[used - 1] == 0) --used;
    begin("[");
    for (std::size_t i = 0; i < used; ++i) {
      separate();
      put(histogram[i]);
    }
    end("]");
  }
  template <class T>
  void put(const std::vector<T>& values) {
    begin("[");
    for (const T& value : values) {
      separate();
      put(value);
      first_ = false;
    }
    end("]");
  }
  template <class Struct>
  requires requires(const Struct& value, JsonWriter& f) { visit_fields(value, f); }
  void put(const Struct& value) {
    begin("{");
    visit_fields(value, *this);
    if (depth_ == 1) file_.write("\n");
    end("}");
  }

  const SiteList* sites_;
  OutputFile& file_;
  bool first_ = true;        // the innermost list or object is still empty
  int depth_ = 0;            // number of open lists and objects
  std::uint64_t index_ = 0;  // of the element being written
};

}  // namespace

void write_json(const Report& report, const SiteList* sites, OutputFile& file) {
  JsonWriter(sites, file).document(report);
}

void write_symbols(const SymbolFacts& symbols, OutputFile& file) {
  JsonWriter(nullptr, file).last_member("symbols", symbols);
}

}  // namespace vramscope
