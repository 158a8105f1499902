// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/environment.h"

#include <unistd.h>

#include <cstdlib>

#include "interpose/settings/private_variables.h"
#include "reporter/view/system/executable.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/nvml.h"

namespace vramscope {
namespace {

// Of the simulator: puts a simulated runtime in the place of NVIDIA's inside a program.
constexpr const char* kRedirector = "libvramscope_redirect.so";

void prepend(const char* variable, const std::string& word) {
  const char* present = std::getenv(variable);
  const bool empty = present == nullptr || *present == '\0';
  setenv(variable, (empty ? word : word + ":" + present).c_str(), 1);
}

// Python finds the module behind whatever the user has put there. Nothing happens where that is
// impossible: the program need not want it.
void offer_python_module() {
  constexpr const char* kVariable = "PYTHONPATH";
  const InstalledFile found = find_python_module();
  if (!found.error.empty()) return;
  const InstalledFile folder = without_separators(found.path, kModulesSeparators);
  if (!folder.error.empty()) return;
  const char* const present = std::getenv(kVariable);
  const std::string before =
      present != nullptr && *present != '\0' ? std::string(present) + ":" : "";
  if ((":" + before).ends_with(":" + folder.path + ":")) return;  // by a `run` around this one
  setenv(kVariable, (before + folder.path).c_str(), 1);
}

// NVTX loads one injection library: ours, which passes on to the user's own.
void inject_into_nvtx(const std::string& library) {
  constexpr const char* kVariable = "NVTX_INJECTION64_PATH";
  if (const char* present = std::getenv(kVariable); present != nullptr && library != present) {
    setenv(kNvtxInjectionVariable, present, 1);
  }
  setenv(kVariable, library.c_str(), 1);
}

// What sanitizers cannot know of us, who are not built with them. The address sanitizer takes us
// for somebody who keeps calls from it; what both define we pass on to the next. The thread
// sanitizer sees our locks, but not our atomics. What the user has set stands behind, and counts.
void allow_before_sanitizer(const char* variable, const std::string& option) {
  const char* const present = std::getenv(variable);
  const std::string rest = present != nullptr && *present != '\0' ? std::string(":") + present : "";
  setenv(variable, (option + rest).c_str(), 1);
}

}  // namespace

// A list with commas of which the last one counts, also of memory: the model's comes first.
void set_simulated_device(const SimulatedDevice& device) {
  const char* present = std::getenv(kSimulatorVariable);
  std::string settings = present != nullptr ? present : "";
  const auto add = [&settings](const std::string& setting) {
    settings += (settings.empty() ? "" : ",") + setting;
  };
  if (!device.model.empty()) add("device=" + device.model);
  if (device.memory != 0) add("capacity=" + std::to_string(device.memory));
  setenv(kSimulatorVariable, settings.c_str(), 1);
}

std::string prepare_environment(bool simulate, const SimulatedDevice& device, std::string& nvml) {
  const InstalledFile library = find_library();
  if (!library.error.empty()) return library.error;
  const InstalledFile preloaded = without_separators(library.path, kPreloadSeparators);
  if (!preloaded.error.empty()) return "cannot preload '" + library.path + "': " + preloaded.error;
  if (is_on_noexec(library.path)) {
    return "cannot preload '" + library.path + "': its file system is mounted noexec";
  }
  prepend("LD_PRELOAD", preload_name(preloaded.path));
  allow_before_sanitizer("ASAN_OPTIONS", "verify_asan_link_order=0");
  allow_before_sanitizer("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");
  inject_into_nvtx(library.path);
  offer_python_module();
  nvml = kNvml;
  if (!simulate) return "";
  InstalledFile simulator = find_simulator();
  if (!simulator.error.empty()) return simulator.error;
  simulator = without_separators(simulator.path, kFoldersSeparators);
  if (!simulator.error.empty()) return "cannot simulate a device: " + simulator.error;
  prepend("LD_LIBRARY_PATH", simulator.path);
  const std::string redirector = simulator.path + "/" + kRedirector;
  if (access(redirector.c_str(), R_OK) == 0) prepend("LD_AUDIT", preload_name(redirector));
  set_simulated_device(device);
  nvml = simulator.path + "/" + kNvml;
  return "";
}

}  // namespace vramscope
