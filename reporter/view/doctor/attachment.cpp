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

// What follows "NAME:" in the process's status, without spaces; "": it is not there.
std::string status_of(const ProcessFiles& process, const std::string& name) {
  const std::string& status = process.files().status;
  const std::size_t at = status.find("\n" + name + ":");
  if (at == status.npos) return "";
  const std::size_t begin = status.find_first_not_of(" \t", at + name.size() + 2);
  return status.substr(begin, status.find('\n', begin) - begin);
}

bool is_in_same(const char* kind, pid_t pid) {
  std::error_code error;
  const auto place = [&](const std::string& process) {
    return std::filesystem::read_symlink("/proc/" + process + "/ns/" + kind, error).string();
  };
  return place("self") == place(std::to_string(pid));
}

// The rule of Yama, a part of the kernel: 0 lets a user trace all of the user's processes.
std::string why_not_traced(pid_t pid, const ProcessFiles& process) {
  if (const std::string tracer = status_of(process, "TracerPid");
      tracer != "0" && !tracer.empty()) {
    return "process " + tracer + " traces it, such as a debugger";
  }
  if (geteuid() == 0) return "";
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope) || scope == 0) return "";
  return "the system allows only root to trace it (kernel.yama.ptrace_scope is " +
         std::to_string(scope) + "): sudo vramscope attach " + std::to_string(pid);
}

std::string why_not_by_program(const ProcessFiles& process) {
  const Executable program = find_executable(process.program());
  if (program.narrow) return "it is a 32-bit program";
  if (program.elf && program.native && program.loader.empty()) return "it is linked statically";
  return more_rights(process.program());
}

}  // namespace

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
  if (std::string why = why_not_by_program(process); !why.empty()) return why;
  if (process.mapped("libcuda.so").empty()) {
    return "it has not loaded the CUDA driver yet";
  }
  if (!is_in_same("mnt", pid) || !is_in_same("pid", pid)) {
    return "it runs in a container: run attach inside";
  }
  if (status_of(process, "State").starts_with('T'))
    return "a signal has stopped it: kill -CONT " + std::to_string(pid);
  if (!status_of(process, "x86_Thread_features").empty() &&
      status_of(process, "x86_Thread_features").find("shstk") != std::string::npos) {
    return "it uses a shadow stack";
  }
  return why_not_traced(pid, process);
}

}  // namespace vramscope
