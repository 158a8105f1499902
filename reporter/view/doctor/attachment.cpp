// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/attachment.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reporter/view/system/as_owner.h"
#include "reporter/view/system/executable.h"
#include "reporter/view/system/running.h"

namespace vramscope {
namespace {

bool is_in_same(const char* kind, pid_t pid) {
  std::error_code error;
  const auto place = [&](const std::string& process) {
    return std::filesystem::read_symlink("/proc/" + process + "/ns/" + kind, error).string();
  };
  return place("self") == place(std::to_string(pid));
}

// The rule of Yama, a part of the kernel: 0 lets a user trace all of the user's processes.
std::string why_not_traced(pid_t pid, const ProcessFiles& process) {
  if (const std::string tracer = process.status("TracerPid"); tracer != "0" && !tracer.empty()) {
    return "process " + tracer + " traces it, such as a debugger";
  }
  if (geteuid() == 0) return "";
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope) || scope == 0) return "";
  return "the system allows only root to trace it (kernel.yama.ptrace_scope is " +
         std::to_string(scope) + "): sudo vramscope attach " + std::to_string(pid);
}

}  // namespace

std::string why_not_by_file(const std::string& path) {
  const Executable program = find_executable(path);
  if (program.narrow) return "is a 32-bit program";
  if (program.elf && program.native && program.loader.empty()) return "is linked statically";
  return more_rights(path);
}

bool is_recorded(pid_t pid) {
  const AsOwner owner(pid);
  return std::ranges::any_of(running_processes(),
                             [=](const RunningProcess& one) { return one.pid == pid; });
}

std::string why_not_attachable(pid_t pid, const ProcessFiles& process) {
#ifndef __x86_64__
  return "attach works on x86-64 only";
#endif
  if (!process.mapped("libvramscope.so").empty()) {
    return is_recorded(pid)
               ? "it runs under Vramscope already: vramscope live " + std::to_string(pid)
               : "it was attached before, and a process can be so once only";
  }
  if (const std::string why = why_not_by_file(process.program()); !why.empty()) return "it " + why;
  if (process.mapped("libcuda.so").empty()) {
    return "it has not loaded the CUDA driver yet";
  }
  if (!is_in_same("mnt", pid) || !is_in_same("pid", pid)) {
    return "it runs in a container: run attach inside";
  }
  if (process.status("State").starts_with('T'))
    return "a signal has stopped it: kill -CONT " + std::to_string(pid);
  if (process.status("x86_Thread_features").find("shstk") != std::string::npos) {
    return "it uses a shadow stack";
  }
  return why_not_traced(pid, process);
}

}  // namespace vramscope
