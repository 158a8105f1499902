// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/startup.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>

#include "allocator/base/fault.h"
#include "interpose/base/clock.h"
#include "interpose/settings/private_variables.h"
#include "reporter/report/files/file_name.h"

// A function of the memory sanitizer's runtime, if the program uses it.
extern "C" [[gnu::weak]] void __msan_init();

namespace vramscope {
namespace {

// Never destroyed, because reports are written after static destructors have run.
union Storage {
  constexpr Storage() : none() {}
  ~Storage() {}  // NOLINT: on purpose
  char none;
  Startup value;
};
constinit Storage storage;

enum class Taken : int { no, being, yes };
constinit std::atomic<Taken> taken{Taken::no};

constinit std::atomic<WayIn> way{WayIn::with_program};

char* variable(const char* name) { return std::getenv(name); }

// For a program that sets the variables itself, as workers of torch.multiprocessing do. Never
// destroyed.
constinit std::atomic<const JobPlace*> place_at_first_use{nullptr};

const JobPlace& place() {
  const JobPlace* const later = place_at_first_use.load(std::memory_order_acquire);
  return startup().place.rank < 0 && later != nullptr ? *later : startup().place;
}

// Returns the "NAME=value" strings of `environ` as pairs.
std::vector<std::pair<std::string, std::string>> whole_environment() {
  std::vector<std::pair<std::string, std::string>> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != text.npos) all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

#ifdef VRAMSCOPE_FAULTS
void choose_fault() {
  const char* chosen = std::getenv(kFaultVariable);
  constexpr const char* kNames[] = {
      "",
#define FAULT(name, text) #name,
#include "allocator/base/faults.def"
  };
  for (std::size_t i = 1; chosen != nullptr && i < std::size(kNames); ++i) {
    if (std::strcmp(chosen, kNames[i]) == 0) chosen_fault = static_cast<Fault>(i);
  }
}
#else
void choose_fault() {}
#endif

void check_escapes(const char* variable, const std::string& pattern,
                   std::vector<std::string>& problems) {
  const auto unknown = unknown_escape(pattern);
  if (unknown.empty()) return;
  problems.push_back(std::string(variable) + "='" + pattern + "': '" + std::string(unknown) +
                     "' is not replaced; the known ones are " + std::string(kEscapes));
}

// Settings of `vramscope attach` count more than those of the environment.
ParseResult parsed_settings(Startup& now) {
  std::vector<Setting> all = collect_settings(environ);
  std::optional<std::vector<std::string>> left;
  if (!is_in_program()) left = own_attach_settings(now.runtime_folder);
  if (!left) return parse_options(all);
  now.is_attached = true;
  std::vector<const char*> lines;
  for (const std::string& line : *left) {
    lines.push_back(line.c_str());
    if (auto held = held_before_in(line)) now.held_before.push_back(*std::move(held));
  }
  lines.push_back(nullptr);
  const std::vector<Setting> more = collect_settings(lines.data());
  all.insert(all.end(), more.begin(), more.end());
  return parse_options(all);
}

Startup take() {
  Startup now;
  now.start_time_ns = wall_time_ns();
  if (const char* folder_of_user = std::getenv("XDG_RUNTIME_DIR")) {
    now.runtime_folder = folder_of_user;
  }
  ParseResult parsed = parsed_settings(now);
  now.options = std::move(parsed.options);
  now.problems = std::move(parsed.problems);
  check_escapes("VRAMSCOPE_OUTPUT", now.options.output, now.problems);
  check_escapes("VRAMSCOPE_TRACE", now.options.trace, now.problems);
  check_escapes("VRAMSCOPE_LIVE_FILE", now.options.live_file, now.problems);
  std::array<char, PATH_MAX> folder{};
  if (getcwd(folder.data(), folder.size()) != nullptr) now.folder = folder.data();
  if (const char* file = std::getenv(kNoteVariable)) now.note_file = file;
  now.place = place_in_job(variable);
  choose_fault();
  for (const std::string& pattern :
       {now.options.output, now.options.trace, now.options.live_file}) {
    if (pattern.find("%{") != std::string::npos) now.environment = whole_environment();
  }
  return now;
}

// Used if memory is exhausted: texts stay empty, and the program runs without us.
Startup switched_off_at_start() noexcept {
  Startup now{.options =
                  {
#define OPTION(type, name, value, sentence) .name = type{},
#include "interpose/settings/options.def"
#undef OPTION
                  },
              .problems = {},
              .folder = {},
              .note_file = {},
              .runtime_folder = {},
              .held_before = {},
              .place = {},
              .environment = {}};
  now.options.mode = Mode::off;
  return now;
}

// The memory sanitizer does not see the library's writes, considers such bytes uninitialised, and
// ends the program when one of its functions, such as memcmp, reads them.
bool is_watched_by_memory_sanitizer() noexcept { return &__msan_init != nullptr; }

void take_once() noexcept {
  Taken before = Taken::no;
  if (!taken.compare_exchange_strong(before, Taken::being)) {
    while (taken.load(std::memory_order_acquire) != Taken::yes) {  // another thread is reading it
    }
    return;
  }
  try {
    const bool is_off = is_in_secure_execution() || is_watched_by_memory_sanitizer();
    new (&storage.value) Startup(is_off ? switched_off_at_start() : take());
  } catch (const std::exception&) {
    new (&storage.value) Startup(switched_off_at_start());
  }
  taken.store(Taken::yes, std::memory_order_release);
}

// Uses /proc/thread-self, because /proc/self is empty after the main thread has ended.
std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const int file = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return arguments;
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  for (std::size_t at = 0; at < text.size();) {
    arguments.emplace_back(text.c_str() + at);
    at += arguments.back().size() + 1;
  }
  return arguments;
}

std::string executable() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/thread-self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

const Startup& startup() noexcept {
  if (taken.load(std::memory_order_acquire) != Taken::yes) take_once();
  return storage.value;
}

void note_place() noexcept {
  if (startup().place.rank >= 0) return;
  try {
    place_at_first_use.store(new JobPlace(place_in_job(variable)), std::memory_order_release);
  } catch (const std::bad_alloc&) {  // then the process has no rank
  }
}

bool is_in_secure_execution() noexcept { return getauxval(AT_SECURE) != 0; }

bool switched_off() noexcept { return startup().options.mode == Mode::off; }

bool is_in_program() noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  const bool is_found = dlsym(program, "vramscope_v1_is_active") != nullptr;
  dlclose(program);
  dlerror();
  return is_found;
}

WayIn way_in() noexcept { return way.load(std::memory_order_relaxed); }

void note_way_in(WayIn other) noexcept {
  static_cast<void>(startup());
  storage.value.options.mode = Mode::observe;
  way.store(other, std::memory_order_relaxed);
}

char* variable_at_start(const char* name) noexcept {
  for (const auto& [known, value] : startup().environment) {
    if (known == name) return const_cast<char*>(value.c_str());
  }
  return nullptr;
}

std::string path_of(const std::string& pattern, const ProcessFacts& process, std::uint64_t sequence,
                    Word word) {
  const NameFacts facts = {.pid = process.pid,
                           .hostname = process.hostname,
                           .executable = process.executable,
                           .arguments = process.arguments,
                           .rank = process.rank,
                           .local_rank = process.local_rank,
                           .world_size = process.world_size,
                           .restart = process.restart,
                           .job = process.job,
                           .sequence = sequence,
                           .is_interim = word == Word::interim,
                           .start_time_ns = process.start_time_ns};
  const std::string name = expand_pattern(pattern, facts, variable_at_start);
  const bool absolute = name.starts_with('/') || startup().folder.empty();
  return absolute ? name : startup().folder + "/" + name;
}

ProcessFacts process_facts() {
  ProcessFacts facts;
  facts.pid = getpid();
  facts.ppid = getppid();
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) facts.hostname = host.data();
  facts.executable = executable();
  if (!startup().options.redact) facts.arguments = command_line();
  const JobPlace& in_job = place();
  facts.rank = in_job.rank;
  facts.local_rank = in_job.local_rank;
  facts.world_size = in_job.world_size;
  facts.restart = in_job.restart;
  facts.job = in_job.job;
  facts.launcher = in_job.launcher;
  facts.start_time_ns = startup().start_time_ns;
  facts.report_time_ns = wall_time_ns();
  facts.options = echo(startup().options);
  for (const auto& [name, value] : facts.options) {
    if (name == "mode") facts.mode = value;
  }
  return facts;
}

}  // namespace vramscope
