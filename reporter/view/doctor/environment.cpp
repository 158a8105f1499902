// What a program would find around it: settings, other preloaded libraries, signals, limits.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "interpose/settings/options.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/elf_program.h"
#include "reporter/view/system/installation.h"

namespace vramscope {
namespace {

void examine_preloaded(const std::string& path, Findings& findings) {
  constexpr const char* kSubject = "LD_PRELOAD";
  if (is_our_library(path)) {
    const bool same = path.starts_with(find_library().path);
    if (same) return findings.fine(kSubject, "has " + path + " already: run is not needed");
    return findings.limits(kSubject, "has another libvramscope.so: " + path,
                           "remove it: two libraries record each call twice");
  }
  const auto file = ElfProgram::open(path);
  if (!file) {
    if (path.find('/') == path.npos) return findings.fine(kSubject, "has " + path + " too");
    return findings.limits(kSubject, path + " is no library: each program complains on stderr",
                           "remove it from LD_PRELOAD");
  }
  for (const char* name : {"cuMemAlloc_v2", "cudaMalloc", "cuGetProcAddress", "dlsym"}) {
    if (!file->exports(name)) continue;
    return findings.limits(kSubject, path + " intercepts " + name + " too",
                           "keep it after libvramscope.so, as run does, and record without it "
                           "where numbers look wrong");
  }
  if (!file->exports("malloc")) return findings.fine(kSubject, "has " + path + " too");
  findings.fine(kSubject,
                "also has another malloc, " + path + ": run keeps it, after Vramscope's library");
}

void examine_preloads(Findings& findings) {
  const char* const words = std::getenv("LD_PRELOAD");
  std::string rest = words == nullptr ? "" : words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" :"), rest.size());
    if (end != 0) examine_preloaded(rest.substr(0, end), findings);
    rest.erase(0, end + 1);
  }
}

// An empty word is the current folder, as a colon at the end makes one.
void examine_search_path(Findings& findings) {
  const char* const typed = std::getenv("LD_LIBRARY_PATH");
  std::string rest = typed == nullptr ? "" : typed;
  if (rest.empty()) return;
  for (std::size_t end = 0; end != rest.npos; rest.erase(0, end == rest.npos ? end : end + 1)) {
    end = rest.find_first_of(":;");
    if (rest.starts_with('/')) continue;
    return findings.limits(
        "LD_LIBRARY_PATH",
        "has an empty or relative entry: programs, and this tool, load libraries "
        "from whatever folder they are started in",
        "name folders by whole paths, without a colon at either end");
  }
}

// A program inherits both.
void examine_signal(int number, Findings& findings) {
  if (number == 0) {
    return findings.limits("signal", "no signal requests a report from a running program",
                           "unset VRAMSCOPE_SIGNAL");
  }
  const std::string name = text(Signal{number});
  struct sigaction action {};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaction(number, nullptr, &action);
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  const bool is_blocked = sigismember(&blocked, number) == 1;
  if (is_blocked || action.sa_handler == SIG_IGN) {
    return findings.limits(
        "signal",
        name + (is_blocked ? " is blocked" : " is ignored") + " here, and programs inherit that",
        "use run --signal SIGUSR2 to ask running programs for reports");
  }
  findings.fine("signal", name + " asks a running program for a report");
}

// "" unless the file begins with a number.
std::string first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word.find_first_not_of("0123456789") == word.npos ? word : "";
}

struct MemoryLimit {
  std::uint64_t bytes = UINT64_MAX;
  std::string group;  // Below where control groups are mounted; "/": all that is seen there.
};

// The least of a control group and those that it lies in, of version 1 or 2. In a container the
// kernel may name a group that is not mounted there: its root tells the limit then.
void lower_by(MemoryLimit& limit, const std::string& root, std::string group, const char* file) {
  while (true) {
    const std::string path = root + (group == "/" ? "" : group) + "/" + file;
    const std::string word = first_word(path.c_str());
    const std::uint64_t bytes = std::strtoull(word.c_str(), nullptr, 10);
    if (!word.empty() && bytes < limit.bytes) limit = {bytes, group};
    if (group == "/") return;
    group.erase(std::max<std::size_t>(group.rfind('/'), 1));
  }
}

// Of the groups that this tool is in, and programs inherit. The kernel names them a line each:
// number, controllers, path (cgroups(7)).
MemoryLimit memory_limit() {
  MemoryLimit limit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t end = line.find(':', controllers);
    if (controllers == 0 || end == line.npos || line.compare(end + 1, 1, "/") != 0) continue;
    const std::string group = line.substr(end + 1);
    const std::string names = "," + line.substr(controllers, end - controllers) + ",";
    if (names == ",,") {
      lower_by(limit, "/sys/fs/cgroup", group, "memory.max");
      lower_by(limit, "/sys/fs/cgroup/unified", group, "memory.max");
    } else if (names.find(",memory,") != names.npos) {
      lower_by(limit, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
  }
  return limit;
}

void examine_memory_limit(Findings& findings) {
  constexpr std::uint64_t kLittle = std::uint64_t{128} << 20;
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;
  const MemoryLimit limit = memory_limit();
  if (limit.bytes >= kUnlimited) {
    return findings.fine("container", "no control group limits host memory");
  }
  const std::string what = "the control group " + limit.group + " allows " +
                           amount_text(limit.bytes) + " of host memory";
  if (limit.bytes >= kLittle) return findings.fine("container", what);
  findings.limits("container", what, "recording needs 1 MiB or more: raise the limit");
}

// Drivers reserve more of them than all GPUs have memory, and say out of memory where they may not.
void examine_addresses(Findings& findings) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  findings.limits("addresses", "programs may have " + amount_text(limit.rlim_cur) + " of them",
                  "ulimit -v unlimited: a driver reserves more than the GPUs' memory");
}

void examine_rights(Findings& findings) {
  const std::string scope = first_word("/proc/sys/kernel/yama/ptrace_scope");
  findings.fine("rights",
                (scope.empty() ? "no ptrace scope is set" : "ptrace scope " + scope) +
                    std::string(", which does not matter, because Vramscope does not use ptrace; "
                                "it asks only your own programs for reports"));
}

}  // namespace

void examine_settings(const Patient& patient, Findings& findings) {
  const ParseResult parsed = parse_options(collect_settings(environ));
  for (const std::string& problem : parsed.problems) {
    findings.limits("settings", problem, "see vramscope options");
  }
  if (parsed.options.mode == Mode::off) {
    findings.stops("settings", "VRAMSCOPE_MODE=off: nothing is recorded", "unset VRAMSCOPE_MODE");
  }
  if (!parsed.options.report_at_exit) {
    findings.limits("settings", "no report is written at exit (VRAMSCOPE_REPORT_AT_EXIT=off)",
                    "unset it, or ask with vramscope snapshot");
  }
  if (patient.pid == 0) examine_signal(parsed.options.signal.number, findings);
}

void examine_environment(Findings& findings) {
  examine_preloads(findings);
  examine_search_path(findings);
}

void examine_container(Findings& findings) {
  examine_memory_limit(findings);
  examine_addresses(findings);
  examine_rights(findings);
}

}  // namespace vramscope
