// The process at its start, and who it is.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/startup.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

#include "interpose/clock.h"
#include "interpose/profiler.h"

namespace vramscope {
namespace {

// Never destroyed: reports are written after static destructors ran.
union Storage {
  constexpr Storage() : none() {}
  ~Storage() {}  // NOLINT: on purpose
  char none;
  Startup value;
};
constinit Storage storage;
constinit std::atomic<bool> taken{false};
constinit std::atomic<bool> is_off{false};

Startup take() {
  Startup now;
  now.start_time_ns = wall_time_ns();
  ParseResult parsed = parse_options(collect_settings(environ));
  now.options = std::move(parsed.options);
  now.problems = std::move(parsed.problems);
  std::array<char, PATH_MAX> folder{};
  if (getcwd(folder.data(), folder.size()) != nullptr) now.folder = folder.data();
  if (const char* file = std::getenv("VRAMSCOPE_NOTE_FILE")) now.note_file = file;
  return now;
}

// Before main, before the program can change its environment or folder.
__attribute__((constructor)) void at_load() {
  const int kept = errno;
  try {
    new (&storage.value) Startup(take());
    is_off.store(storage.value.options.mode == Mode::off, std::memory_order_relaxed);
    taken.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    is_off.store(true, std::memory_order_relaxed);  // the program goes on without us
  }
  errno = kept;
}

// After every handler and destructor of the program: ours was loaded first.
__attribute__((destructor)) void at_unload() { Profiler::final_report("exit"); }

std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
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
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

// The rank that a launcher gave: Open MPI, MPICH and PMIx, torchrun, Slurm. -1: none.
std::int64_t rank() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    std::int64_t value = -1;
    const char* end = text + std::strlen(text);
    if (const auto got = std::from_chars(text, end, value); got.ptr == end && value >= 0) {
      return value;
    }
  }
  return -1;
}

}  // namespace

const Startup& startup() noexcept {
  static constinit Storage defaults;
  if (taken.load(std::memory_order_acquire)) return storage.value;
  // Only a constructor that runs before ours comes here, and only when it initialises CUDA.
  static const bool made = (new (&defaults.value) Startup, true);
  (void)made;
  return defaults.value;
}

bool switched_off() noexcept { return is_off.load(std::memory_order_relaxed); }

ProcessFacts process_facts() {
  ProcessFacts facts;
  facts.pid = getpid();
  facts.ppid = getppid();
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) facts.hostname = host.data();
  facts.executable = executable();
  facts.arguments = command_line();
  facts.rank = rank();
  facts.start_time_ns = startup().start_time_ns;
  facts.report_time_ns = wall_time_ns();
  facts.options = echo(startup().options);
  for (const auto& [name, value] : facts.options) {
    if (name == "mode") facts.mode = value;
  }
  return facts;
}

}  // namespace vramscope
