// The driver, NVML, CUPTI and shared runtimes, as the loader finds them.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "interpose/settings/options.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/view/doctor/driver_answer.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/system/environment.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/library_search.h"
#include "reporter/view/system/nvml.h"

namespace vramscope {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why_no_device() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && (*visible == '\0' || std::strcmp(visible, "-1") == 0)) {
    return "CUDA_VISIBLE_DEVICES hides every GPU: unset it";
  }
  if (access("/dev/nvidiactl", R_OK | W_OK) != 0) {
    return "/dev/nvidiactl cannot be opened: give the container its GPUs (docker run --gpus all), "
           "or use run --sim";
  }
  return "see what nvidia-smi says, or use run --sim";
}

void examine_answer(const DriverAnswer& driver, const Patient& patient, Findings& findings) {
  constexpr int kStubLibrary = 34;  // CUDA_ERROR_STUB_LIBRARY (cuda.h): a library for linkers
  if (driver.code == kStubLibrary || driver.path.find("/stubs/") != driver.path.npos) {
    return findings.stops("driver", driver.path + " is the toolkit's stub, no driver",
                          "take its folder out of LD_LIBRARY_PATH");
  }
  if (driver.signal != 0) {
    return findings.stops("driver",
                          driver.path + ": cuInit was ended by SIG" + sigabbrev_np(driver.signal),
                          "install the driver anew, or use run --sim");
  }
  if (driver.is_silent) {
    return findings.stops(
        "driver",
        driver.path + ": cuInit did not return within " + std::to_string(kDriverSeconds) + " s",
        "see whether nvidia-smi answers, or use run --sim");
  }
  if (driver.code != 0) {
    const std::string name = driver.name.empty() ? "" : " (" + driver.name + ")";
    return findings.stops(
        "driver", driver.path + ": cuInit gives " + std::to_string(driver.code) + name,
        patient.simulate ? "lift the limits on addresses and files that ulimit -a shows"
                         : why_no_device());
  }
  const std::string devices =
      std::to_string(driver.devices) + (driver.devices == 1 ? " device" : " devices");
  const std::string model =
      patient.simulated_model.empty() ? "" : ", simulated as " + patient.simulated_model;
  findings.fine("driver", driver.path + ", for CUDA " + version_text(driver.version) + ", " +
                              devices + model);
}

void examine_driver(const std::string& folder, const Patient& patient, Findings& findings) {
  const DriverAnswer driver = ask_driver(folder + kDriver);
  if (!driver.path.empty()) return examine_answer(driver, patient, findings);
  findings.stops("driver", "libcuda.so.1 was not found",
                 "install NVIDIA's driver (a container: docker run --gpus all), or use run --sim");
}

void examine_runtimes(const std::string& folder, Findings& findings) {
  std::string found;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    const std::string first = folder.empty() ? "" : found_by_loader(folder + name);
    const std::string path = first.empty() ? found_by_loader(name) : first;
    if (!path.empty()) found += (found.empty() ? "" : ", ") + path;
  }
  if (!found.empty()) return findings.fine("runtimes", found);
  findings.fine("runtimes",
                "the loader finds no shared CUDA runtime: programs bring their own, or link it "
                "statically");
}

// NVML is started as the driver is: where it may be ended.
void examine_nvml(const std::string& folder, Findings& findings) {
  const std::string library = found_by_loader(folder + kNvml);
  const ApartLimits limits{.cpu_seconds = kDriverSeconds, .wait_seconds = kDriverSeconds};
  const auto ask = [&] { return std::to_string(ask_nvml(library).size()); };
  const std::string gpus = library.empty() ? "" : run_apart(limits, ask).text;
  if (!gpus.empty() && gpus != "0") {
    return findings.fine("NVML",
                         "reports the memory use of " + gpus + (gpus == "1" ? " GPU" : " GPUs"));
  }
  findings.limits(
      "NVML", "libnvidia-ml.so.1 was not found, or does not answer",
      "it is part of the driver; without it, memory of other processes cannot be attributed");
}

void examine_cupti(Findings& findings) {
  const bool wanted = parse_options(collect_settings(environ)).options.cupti;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"}) {
    const std::string path = found_by_loader(name);
    if (!path.empty()) return findings.fine("CUPTI", path + ", which only --cupti asks");
  }
  if (!wanted) return findings.fine("CUPTI", "is not found; only --cupti needs it");
  findings.limits("CUPTI", "is not found, and --cupti is on",
                  "name the folder of the toolkit's libcupti.so in LD_LIBRARY_PATH");
}

}  // namespace

void show_simulator(const std::string& model) {
  const InstalledFile simulator = find_simulator();
  if (!simulator.error.empty()) return;
  const char* const present = std::getenv("LD_LIBRARY_PATH");
  const std::string rest = present == nullptr || *present == '\0' ? "" : std::string(":") + present;
  setenv("LD_LIBRARY_PATH", (simulator.path + rest).c_str(), 1);
  set_simulated_device({.model = model});
}

void examine_drivers(const Patient& patient, Findings& findings) {
  std::string folder;
  if (patient.simulate) {
    const InstalledFile simulator = find_simulator();
    if (!simulator.error.empty()) {
      return findings.stops("driver", simulator.error, "build Vramscope with the simulator");
    }
    folder = simulator.path + "/";
  }
  examine_driver(folder, patient, findings);
  examine_nvml(folder, findings);
  if (!patient.program.empty()) return;
  examine_runtimes(folder, findings);
  examine_cupti(findings);
}

}  // namespace vramscope
