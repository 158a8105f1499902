// The settings of the library, derived from options.def; parsing is a pure function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/base/limits.h"
#include "allocator/base/named_enum.h"
#include "interpose/settings/capacity_option.h"
#include "interpose/settings/numbers.h"
#include "reporter/record/stack/capture.h"

namespace vramscope {

// cache: served by the caching allocator. dedicated: served by it, each request from a segment of
// its own. observe: passed to the driver and recorded. off: nothing at all.
#define VRAMSCOPE_MODES(X) X(cache) X(dedicated) X(observe) X(off)
VRAMSCOPE_NAMED_ENUM(Mode, std::uint8_t, VRAMSCOPE_MODES);

// What becomes of an allocation that fails because memory ran out, beside its line in the report.
enum class OnOom : std::uint8_t { report, none };

// Values of the option live_file that are no path: a file in a private folder in memory; none.
inline constexpr std::string_view kLiveFileInMemory = "memory";
inline constexpr std::string_view kNoLiveFile = "off";

// What stands in a report's warning of memory that could not be exported, before the option to use.
inline constexpr const char* kCannotExport =
    "this memory is part of a shared segment and cannot be exported; run with ";

// The name of a report in the folder of the option output_folder, unless the option output has one:
// "rank3.4711.json", "rank3.restart1.4720.json", "train.4711.json".
inline constexpr const char* kNameInFolder = "%R.%p.json";

struct Signal {
  int number = 0;  // 0: none
  friend bool operator==(Signal, Signal) = default;
};

// A count from kLowest to kHighest, both included.
template <std::uint64_t kLowest, std::uint64_t kHighest>
struct Ranged {
  std::uint64_t value = kLowest;
  friend bool operator==(Ranged, Ranged) = default;
};
using StackDepth = Ranged<1, kMaxFrames>;

struct Options {
#define OPTION(type, name, value, sentence) type name = value;
#include "interpose/settings/options.def"
#undef OPTION
};

// One variable of an environment: name "VRAMSCOPE_MODE", value "observe". The texts are borrowed.
struct Setting {
  std::string_view name;
  std::string_view value;
};

struct ParseResult {
  Options options;
  std::vector<std::string> problems;  // one line each, no newline, without "vramscope: "
};

// The settings called VRAMSCOPE_…, without those that are meant for the tool or the simulated
// device. `environment` is a null-terminated array as environ; it must outlive the result.
[[nodiscard]] std::vector<Setting> collect_settings(const char* const* environment);

// Defaults, changed by `settings` in order. An empty value means not set. An unknown name or a bad
// value is one problem and changes nothing. With output_folder, output and trace are paths in that
// folder. Throws nothing but bad_alloc, as all of this file.
[[nodiscard]] ParseResult parse_options(std::span<const Setting> settings);

// Name and value of every option, in the order of options.def; parse_options accepts each value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> echo(const Options& options);

// A row of options.def for people: help, manual, completion.
struct OptionRow {
  std::string name;           // stack_depth
  std::string variable;       // VRAMSCOPE_STACK_DEPTH
  std::string flag;           // --stack-depth
  std::string accepted;       // "1 to 128"
  std::string default_value;  // 64
  std::string sentence;
};
[[nodiscard]] std::vector<OptionRow> option_rows();

// Whether the option of that variable accepts the value; false for an unknown variable.
[[nodiscard]] bool accepts(std::string_view variable, std::string_view value);

// Each reads a whole text into the value and returns true, or leaves the value alone.
[[nodiscard]] bool read(std::string_view text, bool& value);
[[nodiscard]] bool read(std::string_view text, Mode& value);
[[nodiscard]] bool read(std::string_view text, Policy& value);
[[nodiscard]] bool read(std::string_view text, ReuseTime& value);
[[nodiscard]] bool read(std::string_view text, OnOom& value);
[[nodiscard]] bool read(std::string_view text, Signal& value);
[[nodiscard]] bool read(std::string_view text, StackMethod& value);
[[nodiscard]] bool read(std::string_view text, std::string& value);
[[nodiscard]] bool read(std::string_view text, StackDepth& value);

// How many characters to insert, remove or replace to make one text the other; case aside.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

// "SIGUSR1", the number of a signal without a name, or "none".
[[nodiscard]] std::string text(Signal value);

}  // namespace vramscope
