// Filter is what a listing is to be about: one device, kind, owner, thread, stream or range, some
// places, enough bytes. filter_report() leaves the rest out of a report, so that every verb filters
// alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/ground/axes.h"
#include "reporter/view/analysis/filter/typed_options.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

class ThreadNames;
struct Report;

// A regular expression (POSIX, extended) as a person typed it. Threads: one.
class Pattern {
 public:
  explicit Pattern(const std::string& expression);
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "": it is one
  // Whether it is found in the first 4 KiB of the text.
  [[nodiscard]] bool is_in(const std::string& text) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;
  std::string problem_;
};

// In which stacks an expression is: in a function, a file or an object's path of any frame. Each
// frame is looked up once. Threads: one. May throw bad_alloc.
// Types of arguments and results, which rows do not show, count where the expression has a bracket.
class PlaceSearch {
 public:
  PlaceSearch(const Report& report, const std::string& expression, NameFrame name);
  // frames: indices into report.frames.
  [[nodiscard]] bool is_in(const std::vector<std::uint32_t>& frames);

 private:
  const Report& report_;
  Pattern pattern_;
  NameFrame name_;
  const bool looks_at_types_;
  std::vector<std::optional<bool>> known_;  // by frame
};

// Outside of every range, and of no stream: as listings show it, and what every report has.
inline constexpr std::string_view kNoValue = "none";

// As typed; "" and nothing: whatever it is.
struct Filter {
  std::optional<unsigned> device = {};
  std::string kind = {};  // its name, or what people say for it
  std::string owner = {};
  std::string thread = {};    // its name, its number, or both as reports have them
  std::string stream = {};    // "3" or "stream 3"
  std::string range = {};     // a path, its beginning, or the name of one range of it; or "none"
  std::string site = {};      // a regular expression
  std::string function = {};  // likewise, of names of the driver's functions: of calls alone
  std::string min_bytes = {};
  std::string from = {};  // instants of the run
  std::string to = {};
  // Threads that `thread` means though they are called otherwise, see name_threads().
  std::set<std::string> threads = {};

  [[nodiscard]] bool is_empty() const;
  // Whether it asks for more than kinds, devices and times.
  [[nodiscard]] bool chooses_rows() const;
  [[nodiscard]] bool has_times() const { return !from.empty() || !to.empty(); }
  [[nodiscard]] std::uint64_t least_bytes() const;
  // Whether memory of the kind with this name in reports passes.
  [[nodiscard]] bool has_kind(std::string_view name) const;
  // Whether memory of that kind and device passes; memory of no device passes no --device.
  [[nodiscard]] bool passes(Kind kind, std::uint16_t device) const;
  // Whether a value of the axis, as reports have it, passes.
  [[nodiscard]] bool passes(Axis axis, std::string_view value) const;
};

// Which of these functions of the driver, by their exported names, a filter asks for. May throw
// bad_alloc.
[[nodiscard]] std::set<std::string> functions_that_pass(const Filter& filter,
                                                        const std::vector<std::string>& names);

// "--owner" of &Filter::owner.
[[nodiscard]] const char* filter_option(std::string Filter::*option);

using FilterOption = std::string Filter::*;
// Null: none of those that take a text.
[[nodiscard]] FilterOption option_named(std::string_view name);
// The name of the first of the options that was typed; "": none.
[[nodiscard]] std::string first_typed(const Filter& filter,
                                      std::initializer_list<FilterOption> options);

// Which bytes of a place --min-bytes is about.
enum class Measure : std::uint8_t { peak, live, total, any };

// What a listing lists, and so what a filter leaves out.
enum class Subject : std::uint8_t {
  rows,      // call stacks, or values of an axis, with what they hold
  segments,  // those with a block that passes; blocks and call stacks stay
  refusals,  // allocations that failed, each with all that was live then
  curves,    // bytes over time, of each kind and device; times are a window
  counters,  // of devices and the host
  calls,     // of the driver's functions, or of threads with their allocations
};

// What a listing can be made of.
enum class Inputs : std::uint8_t { reports, traces, both };

struct FilterUse {
  Measure measure = Measure::any;
  std::optional<Axis> axis = {};  // the listing is by it: its own filter can be answered
  Subject subject = Subject::rows;
  Inputs inputs = Inputs::reports;
  bool draws_window = false;      // times choose what is drawn first, and leave nothing out
  bool judges_sums = false;       // by limits: no row may be hidden from them
  bool row_is_of_memory = false;  // of one kind and device; else of all that a call stack has
  // Words of the command that answers of a trace what this one cannot answer of a report.
  std::string of_a_trace = "trace";
};

// A thread as texts show it.
using ShowThread = std::function<std::string(const std::string& thread)>;
// "", or what the filter names that the report, of which nothing was left out yet, does not have,
// and what it has: "has no device 1; devices: 0". May throw bad_alloc.
[[nodiscard]] std::string missing_from(const Report& report, const Filter& filter,
                                       const ShowThread& shown = {});

// The same of one device, or of one value of an axis, when these are all that there are.
[[nodiscard]] std::string no_such_device(unsigned device, const std::set<std::uint16_t>& devices);
[[nodiscard]] std::string no_such_function(const Filter& filter,
                                           const std::vector<std::string>& names);
// Threads are named as texts show them where `shown` is given.
[[nodiscard]] std::string no_such_value(const Filter& filter, Axis axis, const std::string& given,
                                        const std::set<std::string>& values,
                                        const ShowThread& shown = {});

// Where none of the threads is called as the filter says, it means those that began in a function
// of that name: listings show it behind the thread's own. May throw bad_alloc.
void name_threads(Filter& filter, const std::set<std::string>& threads, const ThreadNames& names);
// Of all that a report has.
void name_threads(Filter& filter, const Report& report, const ThreadNames& names);

// Leaves in the report what passes: of sites, kinds, axes, the ledger, devices, segments and the
// timeline. Sums are of what is left then, see Report::chosen. Rows of call stacks are not rows
// yet:
// --min-bytes is for leave_out_small_rows(). May throw bad_alloc.
void filter_report(Report& report, const Filter& filter, const FilterUse& use,
                   const NameFrame& name);

// The row in which a site stands, by its index into the report's.
using RowOfSite = std::function<std::size_t(std::size_t site)>;
// Once frames are chosen, and sites that they do not tell apart are one: leaves the rows out that
// --min-bytes hides. `row_of`: of sums of several sites; else each has a row. May throw bad_alloc.
void leave_out_small_rows(Report& report, const Filter& filter, const FilterUse& use,
                          const RowOfSite& row_of = {});

// Leaves out what holds no memory but views what others hold: mappings, address ranges, imports.
// May throw bad_alloc.
void leave_out_views(Report& report);
// The same, but sites stay as they are.
void leave_out_kinds_of_views(Report& report);

// The options of the filter as they were typed.
[[nodiscard]] TypedOptions typed_options(const Filter& filter);
// Those that the next command repeats: what a request asked for is no size of what was live.
[[nodiscard]] TypedOptions options_for_next(const Filter& filter, const FilterUse& use);

}  // namespace vramscope
