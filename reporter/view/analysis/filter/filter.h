// Filter says what a listing is limited to: one device, kind, owner, thread, stream or range, some
// places, a minimum size. filter_report() removes everything else from a report, so that all verbs
// filter alike.
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

#include "allocator/base/place.h"
#include "reporter/base/axes.h"
#include "reporter/view/analysis/filter/typed_options.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

class ThreadNames;
struct Report;

// A regular expression (POSIX, extended) as the user typed it. Threads: one.
class Pattern {
 public:
  explicit Pattern(const std::string& expression);
  [[nodiscard]] const std::string& problem() const {
    return problem_;
  }  // "": the expression is
     // valid
  // Returns whether it matches in the first 4 KiB of the text.
  [[nodiscard]] bool is_in(const std::string& text) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;
  std::string problem_;
};

// Finds the stacks that an expression matches: in a function, a file or an object's path of any
// frame. Each frame is looked up once. Types of arguments and results, which rows do not show,
// count if the expression has a bracket. Threads: one. May throw bad_alloc.
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

// The value outside of every range, and of no stream, as listings and every report have it.
inline constexpr std::string_view kNoValue = "none";

// As the user typed it; "" or nothing: no limit.
struct Filter {
  std::optional<unsigned> device = {};
  std::string kind = {};  // the kind's name, or a word that people use for it
  std::string owner = {};
  std::string thread = {};    // the thread's name, its number, or both as reports have them
  std::string stream = {};    // "3" or "stream 3"
  std::string range = {};     // a path, its beginning, or the name of one of its ranges; or "none"
  std::string site = {};      // a regular expression
  std::string function = {};  // a regular expression for names of the driver's functions; only for
                              // calls
  std::string min_bytes = {};
  std::string from = {};  // instants of the run
  std::string to = {};
  // Threads that `thread` selects although they have other names, see name_threads().
  std::set<std::string> threads = {};

  [[nodiscard]] bool is_empty() const;
  // Returns whether it asks for more than kinds, devices and times.
  [[nodiscard]] bool chooses_rows() const;
  [[nodiscard]] bool has_times() const { return !from.empty() || !to.empty(); }
  [[nodiscard]] std::uint64_t least_bytes() const;
  // Returns whether memory of the kind with this name in reports passes.
  [[nodiscard]] bool has_kind(std::string_view name) const;
  // Returns whether memory of that kind and device passes. With --device, memory of no device does
  // not pass.
  [[nodiscard]] bool passes(Kind kind, std::uint16_t device) const;
  // Returns whether a value of the axis, as in reports, passes.
  [[nodiscard]] bool passes(Axis axis, std::string_view value) const;
};

// Returns the functions of the driver, by their exported names, for which a filter asks. May throw
// bad_alloc.
[[nodiscard]] std::set<std::string> functions_that_pass(const Filter& filter,
                                                        const std::vector<std::string>& names);

// Returns "--owner" for &Filter::owner.
[[nodiscard]] const char* filter_option(std::string Filter::*option);

using FilterOption = std::string Filter::*;
// Returns null if no option that takes a text has the name.
[[nodiscard]] FilterOption option_named(std::string_view name);
// Returns the name of the first of the options that was typed, or "".
[[nodiscard]] std::string first_typed(const Filter& filter,
                                      std::initializer_list<FilterOption> options);

// The bytes of a place to which --min-bytes applies.
enum class Measure : std::uint8_t { peak, live, total, any };

// What a listing lists, and therefore what a filter leaves out.
enum class Subject : std::uint8_t {
  rows,      // call sites, or values of an axis, with their memory
  segments,  // segments with a block that passes; their blocks and call sites stay
  refusals,  // failed allocations, each with everything that was live
  curves,    // bytes over time, for each kind and device; times are a window
  counters,  // of devices and the host
  calls,     // of the driver's functions, or of threads with their allocations
};

// From what a listing can be made.
enum class Inputs : std::uint8_t { reports, traces, both };

struct FilterUse {
  Measure measure = Measure::any;
  std::optional<Axis> axis = {};  // the listing is by this axis, so the axis's own filter can be
                                  // applied
  Subject subject = Subject::rows;
  Inputs inputs = Inputs::reports;
  bool draws_window = false;      // times choose what is drawn first, and leave nothing out
  bool judges_sums = false;       // limits are checked on sums, from which no row may be hidden
  bool row_is_of_memory = false;  // a row is one kind on one device; else it is a call site with
                                  // all its memory
  // The command that answers from a trace what this one cannot answer from a report.
  std::string of_a_trace = "trace";
};

// Returns a thread's text in listings.
using ShowThread = std::function<std::string(const std::string& thread)>;
// Returns "", or what the filter names and the report lacks, with what the report has: "has no
// device 1; devices: 0". Nothing may have been removed from the report. May throw bad_alloc.
[[nodiscard]] std::string missing_from(const Report& report, const Filter& filter,
                                       const ShowThread& shown = {});

// Return the same text for a device, or for a value of an axis, given all that exist.
[[nodiscard]] std::string no_such_device(unsigned device, const std::set<std::uint16_t>& devices);
[[nodiscard]] std::string no_such_function(const Filter& filter,
                                           const std::vector<std::string>& names);
// With `shown`, threads are named as in listings.
[[nodiscard]] std::string no_such_value(const Filter& filter, Axis axis, const std::string& given,
                                        const std::set<std::string>& values,
                                        const ShowThread& shown = {});

// If no thread has the filter's name, the filter selects the threads that began in a function of
// that name, which listings show behind the thread's own name. May throw bad_alloc.
void name_threads(Filter& filter, const std::set<std::string>& threads, const ThreadNames& names);
// Does that for all threads of a report.
void name_threads(Filter& filter, const Report& report, const ThreadNames& names);

// Removes what does not pass from the report's sites, kinds, axes, ledger, devices, segments and
// timeline. Sums are then over the rest, see Report::chosen. Call sites are not rows yet, so
// leave_out_small_rows() applies --min-bytes. May throw bad_alloc.
void filter_report(Report& report, const Filter& filter, const FilterUse& use,
                   const NameFrame& name);

// Returns the row of a site, by its index in the report.
using RowOfSite = std::function<std::size_t(std::size_t site)>;
// Removes the rows that --min-bytes hides, after frames were chosen and sites with equal frames
// were joined. row_of: for rows that are sums of several sites; otherwise each site has a row. May
// throw bad_alloc.
void leave_out_small_rows(Report& report, const Filter& filter, const FilterUse& use,
                          const RowOfSite& row_of = {});

// Removes kinds that hold no memory but are views of other memory: mappings, address ranges,
// imports. May throw bad_alloc.
void leave_out_views(Report& report);
// Does the same, but keeps the sites.
void leave_out_kinds_of_views(Report& report);

// Returns the filter's options as they were typed.
[[nodiscard]] TypedOptions typed_options(const Filter& filter);
// Returns the options that the next command repeats. The size of a request is not a size of live
// memory, so it is not repeated.
[[nodiscard]] TypedOptions options_for_next(const Filter& filter, const FilterUse& use);

}  // namespace vramscope
