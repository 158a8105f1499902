// Whether the library would be loaded into a program, and how the program's calls reach it.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "reporter/view/doctor/driver_answer.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/doctor/script.h"
#include "reporter/view/system/elf_program.h"
#include "reporter/view/system/executable.h"
#include "reporter/view/system/library_search.h"

namespace vramscope {
namespace {

constexpr const char* kProgramSubject = "program";
constexpr const char* kRuntime = "runtime";

// Only NVIDIA's own has it; any static runtime has the name of that error.
constexpr const char* kOfNvidia = "/cudart.shm.";
constexpr const char* kOfRuntimes = "cudaErrorCudartUnloading";

bool begins(const std::vector<std::string>& names, std::string_view with) {
  return std::any_of(names.begin(), names.end(),
                     [with](const std::string& name) { return name.starts_with(with); });
}

void examine_static_runtime(const ElfProgram& file, const Patient& patient, Findings& findings) {
  if (patient.simulate && file.mentions(kOfNvidia)) {
    if (file.has_section(".symtab") || file.has_section(".gnu_debuglink")) {
      return findings.fine(
          kRuntime, "is linked statically: the simulated runtime takes the place of NVIDIA's");
    }
    return findings.stops(kRuntime,
                          "NVIDIA's is linked statically and has no symbols by which the "
                          "simulated one could take its place",
                          "link with nvcc -cudart shared, or keep its symbols");
  }
  findings.fine(kRuntime,
                "is linked statically: its driver calls go through Vramscope and are recorded");
}

// Of "libcudart.so.13".
int major_of(std::string_view runtime) {
  const std::size_t at = runtime.find(".so.");
  return at == runtime.npos ? 0 : std::atoi(std::string(runtime.substr(at + 4)).c_str());
}

void examine_shared_runtime(const std::string& name, const Patient& patient, Findings& findings) {
  const int driver = patient.simulate ? 0 : ask_driver("libcuda.so.1").version / 1000;
  if (driver != 0 && major_of(name) > driver) {
    return findings.stops(kRuntime,
                          name + " needs a newer driver than this one for CUDA " +
                              std::to_string(driver) + ": CUDA refuses every call",
                          "install a newer driver, or link with an older runtime");
  }
  findings.fine(kRuntime, name + " is linked dynamically: its driver calls are recorded");
}

void examine_runtime(const ElfProgram& file, const Patient& patient, Findings& findings) {
  for (const std::string& name : file.needed()) {
    if (name.starts_with("libcudart.so")) return examine_shared_runtime(name, patient, findings);
  }
  if (file.mentions(kOfRuntimes)) return examine_static_runtime(file, patient, findings);
  if (begins(file.needed(), "libcuda.so")) {
    return findings.fine(
        kRuntime, "none: the program calls the driver directly, and these calls are recorded");
  }
  findings.fine(kRuntime,
                "none is linked; one that the program loads later is recorded. If it never uses "
                "CUDA, there is no report");
}

void examine_names(const ElfProgram& file, Findings& findings) {
  if (file.has_section(".debug_line") || file.has_section(".gnu_debuglink")) {
    return findings.fine("symbols", "the program has function names, file names and line numbers");
  }
  if (file.has_section(".symtab")) {
    return findings.limits("symbols", "the program has function names, but no line numbers",
                           "compile with -g (nvcc -g -Xcompiler -g for host code)");
  }
  findings.limits("symbols", "the program is stripped: call stacks show exported names at most",
                  "keep the unstripped file, or its debug file where gdb would look");
}

// "" or why the library is not loaded.
std::string why_not_loaded_into(const Executable& program, const ElfProgram& file,
                                const LoaderAnswer& loader, std::string& advice) {
  advice = "record it on a machine of its kind; this Vramscope is for " +
           ElfProgram::own_machine() + " Linux";
  if (program.narrow) return "is a 32-bit program: it runs unrecorded";
  if (!program.native)
    return "is not for " + ElfProgram::own_machine() + ", but for " + file.machine();
  advice = "link it dynamically (without -static), or record the program that it starts";
  if (program.loader.empty()) return "is linked statically: nothing can be preloaded";
  advice = "link it with glibc";
  if (program.loader.find("ld-musl") != program.loader.npos) {
    return "is linked with musl, and the library needs glibc";
  }
  advice = "install it, or run the program on a machine that has it";
  if (access(program.loader.c_str(), F_OK) != 0) {
    return "cannot start: its loader '" + program.loader + "' is not there";
  }
  advice = "run a copy without these rights (cp), or run it as the user who has them";
  if (const std::string rights = more_rights(program.path); !rights.empty()) {
    return rights + ": the loader preloads nothing into it";
  }
  advice = "install the library, or name its folder in LD_LIBRARY_PATH";
  return loader.refusal.empty() ? "" : "cannot start: " + loader.refusal;
}

void examine_environment_use(const ElfProgram& file, const std::string& path, Findings& findings) {
  if (!file.mentions("LD_PRELOAD")) return;
  findings.limits(kProgramSubject,
                  path +
                      " contains the word LD_PRELOAD: it may remove this variable from programs "
                      "that it starts",
                  "check a running one with vramscope doctor PID; preload the library by hand if "
                  "it is missing there");
}

void examine_file(const Executable& program, const Patient& patient, Findings& findings) {
  const auto file = ElfProgram::open(program.path);
  if (!file) {
    return findings.stops(kProgramSubject, program.path + " is neither a program nor a script",
                          "name the program that is finally started");
  }
  std::string advice;
  const LoaderAnswer loader = ask_by_reading(program.path, program.loader);
  const std::string why_not = why_not_loaded_into(program, *file, loader, advice);
  if (!why_not.empty())
    return findings.stops(kProgramSubject, program.path + " " + why_not, advice);
  findings.fine(
      kProgramSubject,
      program.path + " is linked dynamically, so Vramscope's library can be loaded into it");
  if (!loader.unknown.empty()) {
    findings.limits(kProgramSubject,
                    "it is not known whether its libraries exist: " + loader.unknown,
                    "start it once without Vramscope");
  }
  examine_environment_use(*file, program.path, findings);
  examine_runtime(*file, patient, findings);
  examine_names(*file, findings);
}

}  // namespace

void examine_program(const Patient& patient, Findings& findings) {
  Executable program = find_executable(patient.program);
  if (program.path.empty()) {
    throw std::invalid_argument("there is no program '" + patient.program +
                                "' (a path, or a name in PATH)");
  }
  if (access(program.path.c_str(), X_OK) != 0) {
    return findings.stops(kProgramSubject, program.path + " may not be executed",
                          "chmod +x, or name what reads it: vramscope doctor python3");
  }
  if (is_on_noexec(program.path)) {
    return findings.stops(kProgramSubject, program.path + " is on a file system mounted noexec",
                          "copy it to another");
  }
  if (!program.elf) program = examine_script(program, findings);
  if (!program.path.empty()) examine_file(program, patient, findings);
}

}  // namespace vramscope
