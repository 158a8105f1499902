// Looks for the outermost frame that is the program's.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/thread_names.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <vector>

#include "reporter/base/axes.h"
#include "reporter/record/stack/owners.h"
#include "reporter/report/attribution.h"
#include "reporter/report/report.h"
#include "reporter/report/symbols.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "loader" of "loader 4712"; a thread without a name has only its number.
std::string_view name_part(std::string_view thread) {
  const std::size_t space = thread.rfind(' ');
  return space == thread.npos ? std::string_view() : thread.substr(0, space);
}

std::string_view number_part(std::string_view thread) {
  return thread.substr(thread.rfind(' ') + 1);
}

// What starts threads for Python's programs.
bool starts_threads(const SourceFact& source) {
  return file_of(source.path) == "threading.py" ||
         source.path.ends_with("/concurrent/futures/thread.py");
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

// The same for those of C and C++: the C library, and the runtimes of C++ and OpenMP.
bool starts_threads(std::string_view module) {
  return only_passes_on(module) ||
         is_any(file_of(module), {"libstdc++", "libc++", "libgomp", "libomp", "libiomp", "ld-"});
}
bool starts_threads_in_program(std::string_view function) {
  function = function.substr(0, function.find_first_of("(@"));
  const std::size_t result = function.substr(0, function.find('<')).rfind(' ');
  if (result != function.npos) function.remove_prefix(result + 1);
  return function == "start_thread" || is_any(function, {"std::", "__gnu_cxx::", "clone"});
}

// Of CUDA's runtime, which is linked into programs.
bool is_of_cuda(std::string_view function) {
  constexpr std::size_t kWord = 4;
  const bool is_named = function.starts_with("cuda") && function.size() > kWord &&
                        function[kWord] >= 'A' && function[kWord] <= 'Z';
  return is_named || is_any(function, {"__cuda", "cudart::", "libcudart_static_"});
}

// What std::thread was given: "work(int)::{lambda()#1}" of its state's run(), into which the
// compiler put the function itself; "" a pointer to a function, whose name is not there.
std::string given_to_thread(std::string_view run) {
  constexpr std::string_view kState = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";
  const std::size_t begin = run.find(kState);
  if (begin == run.npos) return "";
  run.remove_prefix(begin + kState.size());
  std::size_t end = 0;
  for (int depth = 0; end < run.size() && (depth > 0 || (run[end] != ',' && run[end] != '>'));
       ++end) {
    depth += run[end] == '<' || run[end] == '(' || run[end] == '{';
    depth -= run[end] == '>' || run[end] == ')' || run[end] == '}';
  }
  const std::string_view given = run.substr(0, end);
  return given.find("{lambda") == given.npos ? "" : shorten(std::string(given));
}

struct Named {
  std::string text;         // "" nothing is known of the frame
  bool is_start = false;    // it only starts threads
  bool is_of_cuda = false;  // a call of the program's, and not where it began
};

Named of_python(const Report& report, const FrameFact& frame) {
  const CodeFact& code = report.codes[frame.code];
  const SourceFact& source = report.sources[code.source];
  const std::string line = code.first_line == 0 ? "" : ":" + std::to_string(code.first_line);
  return {.text = code.name + " (" + std::string(file_of(source.path)) + line + ")",
          .is_start = starts_threads(source)};
}

// Without a line: that of the call is another one with each stack.
Named of_module(const Report& report, const FrameFact& frame, const NameFrame& name) {
  if (frame.module >= report.modules.size()) return {};
  if (starts_threads(report.modules[frame.module].path)) return {.text = "", .is_start = true};
  const std::vector<SourceFrame> names = name ? name(report, frame) : std::vector<SourceFrame>();
  if (names.empty() || names.back().function.empty() || names.back().file == kReplaced) return {};
  // The outermost of those that are one frame, for the compiler put one into the other.
  const auto begun = std::find_if(names.rbegin(), names.rend(), [](const SourceFrame& one) {
    return !one.function.empty() && !starts_threads_in_program(one.function);
  });
  if (begun == names.rend()) {
    return {.text = given_to_thread(names.back().function), .is_start = true};
  }
  const std::string place =
      begun->file.empty() ? "" : " (" + std::string(file_of(begun->file)) + ")";
  return {.text = shorten(begun->function) + place, .is_of_cuda = is_of_cuda(begun->function)};
}

bool ends_in_the_system(const Report& report, std::uint32_t outermost) {
  const FrameFact& frame = report.frames[outermost];
  return frame.code == kNoCode && frame.module < report.modules.size() &&
         starts_threads(report.modules[frame.module].path);
}

// Of Python's frames where there are some. A stack that does not end in what starts threads was cut
// off before it reached that.
std::string began_in(const Report& report, const ThreadStart& start, const NameFrame& name) {
  const auto is_python = [&](std::uint32_t frame) { return report.frames[frame].code != kNoCode; };
  const bool by_python = std::any_of(start.frames.begin(), start.frames.end(), is_python);
  std::string given;  // to what starts the thread
  bool is_whole = !start.frames.empty() && ends_in_the_system(report, start.frames.back());
  for (auto at = start.frames.rbegin(); at != start.frames.rend(); ++at) {
    if (by_python && !is_python(*at)) continue;
    const FrameFact& frame = report.frames[*at];
    const Named named = by_python ? of_python(report, frame) : of_module(report, frame, name);
    if (!named.is_start) return !is_whole ? "" : named.is_of_cuda ? given : named.text;
    if (!named.text.empty()) given = named.text;
    is_whole = true;
  }
  return "";
}

}  // namespace

ThreadNames::ThreadNames(const Report& report, const NameFrame& name)
    : report_(report), name_(name) {
  std::set<std::string_view> threads;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis == Axis::thread) threads.insert(entry.value);
  }
  for (const ThreadStart& start : report.threads) threads.insert(start.thread);
  for (const std::string_view thread : threads) ++bearers_[std::string(name_part(thread))];
}

std::string ThreadNames::began(const std::string& thread) const {
  if (const ProcessFacts* const process = process_of(thread)) {
    const bool has_rank = is_of_several(report_) && process->rank >= 0;
    return has_rank ? "main thread of rank " + std::to_string(process->rank) : "main thread";
  }
  std::string found;
  std::size_t count = 0;
  for (const ThreadStart& start : report_.threads) {
    if (start.thread != thread) continue;
    found = began_in(report_, start, name_);
    ++count;
  }
  return count == 1 ? found : "";
}

std::string ThreadNames::told(const std::string& thread) const {
  const std::string_view name = name_part(thread);
  const auto bearers = bearers_.find(name);
  const bool is_shared = bearers != bearers_.end() && bearers->second > 1;
  const bool is_named = !is_shared && (process_of(thread) != nullptr || !is_of_program(name));
  return name.empty() || is_named ? "" : began(thread);
}

std::string ThreadNames::in_message(const std::string& thread) const {
  const std::string where = told(thread);
  return harmless(thread) + (where.empty() ? "" : " - " + harmless(where));
}

std::string ThreadNames::title(const ThreadFact& thread) const {
  const std::string where = told(thread_text(thread));
  return where.empty() ? thread.name : thread.name + " - " + where;
}

// The system numbers it as the process.
const ProcessFacts* ThreadNames::process_of(const std::string& thread) const {
  const std::string_view number = number_part(thread);
  const auto is_its = [number](const ProcessFacts& process) {
    return process.pid != 0 && number == std::to_string(process.pid);
  };
  for (const MergedProcess& one : report_.processes) {
    if (is_its(one.process)) return &one.process;
  }
  return is_its(report_.process) ? &report_.process : nullptr;
}

// The system cuts it after 15 bytes, and calls a script by the script's name.
bool ThreadNames::is_of_program(std::string_view name) const {
  const auto is_its = [name](const ProcessFacts& process) {
    if (file_of(process.executable).starts_with(name)) return true;
    const std::size_t words = std::min<std::size_t>(process.arguments.size(), 2);
    return std::any_of(process.arguments.begin(),
                       process.arguments.begin() + static_cast<std::ptrdiff_t>(words),
                       [name](const std::string& word) { return file_of(word).starts_with(name); });
  };
  return is_its(report_.process) ||
         std::any_of(report_.processes.begin(), report_.processes.end(),
                     [&](const MergedProcess& one) { return is_its(one.process); });
}

}  // namespace vramscope
